#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "module/engine/engine_context.hpp"
#include "module/engine/node_call.hpp"
#include "module/plan/plan.hpp"
#include "module/plan/window.hpp"
#include "module/redis/topology/key_slot.hpp"
#include "module/zone/address_budgets.hpp"

namespace tollgate::engine {

/// Shares the budgets of addresses among the nodes, for tables with `anonymous … shared`. A node
/// tells Redis what it has charged to a budget, at most once a second, and learns what all nodes
/// have. Nothing waits for that: until then, and while Redis is unreachable, the node decides by
/// what it knows.
///
/// Redis keeps what it is told of an address until the longest window ends. So it is told only of
/// an address that has used a part of its budget (see is_worth_telling), and a worker tells it of
/// at most kMostNew addresses that it does not have, and of one more each second.
class SharedBudgets : private Pinned {
  public:
    /// The context must outlive it.
    explicit SharedBudgets(EngineContext& context);

    /// The budget of an address in this table was charged. The table must outlive the object.
    void note(const PlanTable& table, const ClientAddress& address) noexcept;

    /// Whether an address has used as much of one of these windows as told_from says.
    static bool is_worth_telling(std::span<const WindowState> windows);
    /// How many units of a window of this rate a node may grant to an address before Redis is told:
    /// an eighth, at least two units, and never more than the rate has. N nodes that each see less
    /// than this grant N times as much in all.
    static std::int64_t told_from(const Rate& rate);
    static constexpr std::int64_t kToldPart = 8;
    /// How many addresses a worker may add to Redis at once. One more may be added each second.
    static constexpr std::int64_t kMostNew = 1000;

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
    void end_front() noexcept;
    void add_credit();
    std::vector<Told> take_charges();
    void send(std::vector<Told> batch);
    void set_totals(const std::vector<Told>& told, redis::ReplyValues values);

    EngineContext& context_;
    NodeCall calls_;
    std::list<Charged> pending_;                   ///< in the order in which they are looked at
    std::unordered_set<Owner, OwnerHash> owners_;  ///< of them
    bool is_waiting_ = false;                      ///< the timer runs
    std::int64_t new_left_ = kMostNew;             ///< addresses that may be added to Redis now
    SteadyTime new_since_{};                       ///< when that was last more by one
    std::unique_ptr<Timer> timer_;
};

}  // namespace tollgate::engine
