#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "module/management/declared_key.hpp"
#include "module/management/groups.hpp"
#include "module/plan/plan.hpp"

namespace tollgate::cli {

/// Where something is declared.
struct Place {
    std::string file;
    std::size_t line = 0;
};

/// An id and its key as a file declares them.
struct DeclaredKey {
    Place place;
    management::DeclaredId id;
};

/// A group as a file declares it.
struct DeclaredGroup {
    Place place;
    management::GroupRecord group;
};

/// The ids and groups that files declare, each once.
class Declarations {
  public:
    /// What a declaration must meet.
    struct Rules {
        const std::vector<PlanTable>& tables;  ///< the plans that gateways have published
        std::string owner{};                   ///< stored with each id; empty: none
        bool is_forced = false;                ///< a plan that no table has is accepted
    };
    using Refuse = std::function<void(const Place& place, const std::string& why)>;

    /// The tables must outlive the object. `now` is the time of Redis's clock. `refuse` receives
    /// the lines that are no declaration, and what a further one declares again.
    Declarations(Rules rules, std::chrono::sys_seconds now, Refuse refuse)
        : rules_(std::move(rules)), now_(now), refuse_(std::move(refuse)) {}

    /// Reads a file. Throws Failure if it cannot be read.
    void read(const std::string& file);

    std::vector<DeclaredKey>& keys() { return keys_; }
    const std::vector<DeclaredGroup>& groups() const { return groups_; }
    /// Whether this id is declared.
    bool has(const std::string& id) const { return ids_.contains(id); }
    /// The groups of the declared ids; an empty name for those without one.
    const std::set<std::string>& named_groups() const { return named_groups_; }

  private:
    void add(DeclaredKey declared);
    void add(DeclaredGroup declared);

    Rules rules_;
    std::chrono::sys_seconds now_;
    Refuse refuse_;
    std::vector<DeclaredKey> keys_;
    std::vector<DeclaredGroup> groups_;
    std::set<std::string> ids_;
    std::set<std::string> group_names_;
    std::set<std::string> named_groups_;
};

}  // namespace tollgate::cli
