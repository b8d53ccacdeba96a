#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "module/quota/table_quota.hpp"

namespace tollgate {

/// What choose_quotas says of these tables, remembered: it is asked for each request, and the plans
/// are few.
class PlanQuotas {
  public:
    /// The tables must outlive it.
    explicit PlanQuotas(std::span<const PlanTable* const> tables) : tables_(tables) {}

    /// See choose_quotas; nullptr where the key's plan has no place. Throws ParseError.
    std::shared_ptr<const Quotas> find(const KeyRecord& key);

  private:
    /// What a plan has here; where it is custom somewhere, by the limits of the key.
    struct Choice {
        bool custom = false;
        std::shared_ptr<const Quotas> quotas;
        std::map<std::string, std::shared_ptr<const Quotas>, std::less<>> by_limits;
    };

    bool is_custom(std::string_view plan) const;
    std::shared_ptr<const Quotas> choose(const KeyRecord& key) const;

    std::span<const PlanTable* const> tables_;
    std::map<std::string, Choice, std::less<>> by_plan_;
};

}  // namespace tollgate
