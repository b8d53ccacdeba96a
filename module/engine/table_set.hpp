#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "module/engine/engine_context.hpp"
#include "module/plan/plan.hpp"
#include "module/plan/plan_quotas.hpp"
#include "module/report/statistics.hpp"

namespace tollgate::engine {

/// The plan tables that a `tollgate` directive names, as one worker applies them: the quotas of
/// each plan, and where requests are counted.
class TableSet {
  public:
    /// There is at least one table. The tables and the context of their Redis must outlive it.
    /// `statistics` has an entry for each plan of the first table, and a last one for requests
    /// without a plan; it may be empty.
    TableSet(std::span<const PlanTable* const> tables, const std::optional<BanPolicy>& ban,
             EngineContext& context, std::vector<RequestStatistics*> statistics);

    std::span<const PlanTable* const> tables() const { return tables_; }
    /// The positions of the tables that count values.
    std::span<const std::size_t> counting_values() const { return counting_values_; }
    /// Whether a table has by=group.
    bool counts_groups() const { return counts_groups_; }
    /// The ban policy of the first table that has one.
    const std::optional<BanPolicy>& ban() const { return ban_; }
    /// The first table with an `anonymous` budget; nullptr: none.
    const PlanTable* budget() const { return budget_; }
    /// Whether both count in the same Redis, by the same block of the configuration.
    bool shares_redis_with(const TableSet& other) const { return &context_ == &other.context_; }
    /// The quotas of a key and its group (see choose_quotas), without values; nullptr if a plan is
    /// not in every table. The same if limits are invalid, which is logged. Throws std::bad_alloc.
    std::shared_ptr<const Quotas> quotas_of(const KeyRecord& key, const KeyRecord* group = nullptr);
    /// What a request takes of these quotas, which are of the tables, if it costs this in each of
    /// the tables. Throws std::bad_alloc.
    Cost cost_of(const Quotas& quotas, const Cost& of_tables) const;
    /// Whether every table that does not count groups has this plan, or a default.
    bool has_plan(std::string_view plan) const;

    /// The statistics of requests that the first table counts for this record, of a key or of a
    /// group: those of its plan there. nullptr: without a record. nullptr without statistics.
    RequestStatistics* statistics_of(const KeyRecord* record) const;

  private:
    std::span<const PlanTable* const> tables_;
    std::optional<BanPolicy> ban_;
    EngineContext& context_;
    const PlanTable* budget_;
    PlanQuotas quotas_;
    std::vector<std::size_t> counting_values_;
    bool counts_groups_;
    std::vector<RequestStatistics*> statistics_;
};

}  // namespace tollgate::engine
