#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "module/key/address_blocks.hpp"
#include "module/plan/plan.hpp"
#include "module/plan/plan_quotas.hpp"
#include "module/plan/window.hpp"
#include "module/report/statistics.hpp"

namespace tollgate::engine {

class Engine;

/// The plan tables that a `tollgate` directive names, as one worker applies them: the engine of
/// their Redis, the quotas of each plan, and where requests are counted.
class TableSet {
  public:
    /// There is at least one table. The tables and the engine must outlive it. `statistics` has
    /// an entry for each plan of the first table, and a last one for requests without a plan; it
    /// may be empty.
    TableSet(std::span<const PlanTable* const> tables, const std::optional<BanPolicy>& ban,
             Engine& engine, std::vector<RequestStatistics*> statistics);

    std::span<const PlanTable* const> tables() const { return tables_; }
    /// The positions of the tables that count values.
    std::span<const std::size_t> counting_values() const { return counting_values_; }
    /// Whether a table has by=group.
    bool counts_groups() const { return counts_groups_; }
    /// The ban policy of the first table that has one.
    const std::optional<BanPolicy>& ban() const { return ban_; }
    Engine& engine() const { return engine_; }
    /// The quotas of a key and its group (see choose_quotas), without values; nullptr if a plan is
    /// not in every table. The same if limits are invalid, which is logged. Throws std::bad_alloc.
    std::shared_ptr<const Quotas> quotas_of(const KeyRecord& key, const KeyRecord* group = nullptr);
    /// Charges `cost` to the budget of an address for failed authentications: `anonymous` of the
    /// first table that has one. 0 only reads the budget. `now` is the node's own clock. Returns
    /// the windows afterwards, or none without a budget.
    WindowStates charge_address(AddressBytes address, std::int64_t cost, Instant now) const;
    /// Whether a possibly made-up key may be looked up for this address: see
    /// AddressBudgets::admits_lookup. Without a budget, the last such look-ups decide.
    bool admits_lookup(AddressBytes address, Instant now) const;
    /// A look-up that admits_lookup admitted has found no record. With a budget, the request is
    /// charged to it instead.
    void note_unknown(AddressBytes address, Instant now) const;

    /// Whether every table that does not count groups has this plan, or a default.
    bool has_plan(std::string_view plan) const;

    /// The statistics of requests that the first table counts for this record, of a key or of a
    /// group: those of its plan there. nullptr: without a record. nullptr without statistics.
    RequestStatistics* statistics_of(const KeyRecord* record) const;

  private:
    std::span<const PlanTable* const> tables_;
    std::optional<BanPolicy> ban_;
    Engine& engine_;
    const PlanTable* budget_;  ///< the first table with `anonymous`; nullptr: none
    PlanQuotas quotas_;
    std::vector<std::size_t> counting_values_;
    bool counts_groups_;
    std::vector<RequestStatistics*> statistics_;
};

}  // namespace tollgate::engine
