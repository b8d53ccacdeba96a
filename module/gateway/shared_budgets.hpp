#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "module/gateway/engine_context.hpp"
#include "module/gateway/node_call.hpp"
#include "module/quota/plan.hpp"
#include "module/redis/topology/key_slot.hpp"
#include "module/store/address_budgets.hpp"

namespace tollgate::gateway {

/// Shares the budgets of addresses among the nodes, for tables with `anonymous … shared`. A node
/// tells Redis what it has charged to a budget, at most once a second, and learns what all nodes
/// have. Nothing waits for that: until then, and while Redis is unreachable, the node decides by
/// what it knows.
class SharedBudgets : private Pinned {
  public:
    /// The context must outlive it.
    explicit SharedBudgets(EngineContext& context);

    /// The budget of an address in this table was charged. The table must outlive the object.
    void note(const PlanTable& table, const ClientAddress& address) noexcept;

  private:
    class Reply;
    using Owner = AddressBudgets::Owner;
    struct OwnerHash {
        std::size_t operator()(const Owner& owner) const noexcept { return owner.hash(); }
    };
    struct Charged {
        Owner owner;
        const PlanTable* table;
    };
    /// A charge that is being told.
    struct Told {
        redis::Slot slot;
        Owner owner;
        const PlanTable* table;
        std::string address;
        AddressBudgets::Charge charge;
    };

    void on_timer() noexcept;
    std::vector<Told> take_charges();
    void send(std::vector<Told> batch);
    void set_totals(const std::vector<Told>& told, redis::ReplyValues values);

    EngineContext& context_;
    NodeCall calls_;
    std::list<Charged> pending_;                   ///< in the order in which they are looked at
    std::unordered_set<Owner, OwnerHash> owners_;  ///< of them
    bool is_waiting_ = false;                      ///< the timer runs
    std::unique_ptr<Timer> timer_;
};

}  // namespace tollgate::gateway
