#pragma once

#include <optional>
#include <span>

#include "module/plan/cost.hpp"
#include "module/plan/plan.hpp"
#include "module/plan/table_quota.hpp"
#include "module/plan/window.hpp"

// Costs with a least value (QuotaCost::least): a request takes less if less is left.
namespace tollgate {

/// Cuts the costs that are above a limit of the table's quotas to that limit, but not below their
/// least. `cost` is that of the tables. Throws std::bad_alloc.
Cost cut_to_limits(const Cost& cost, std::span<const PlanTable* const> tables,
                   const Quotas& quotas);

/// The cost for another attempt after a refusal that shows these windows: of tables that have less
/// left than the request costs, what is left. nullopt if less than the least is left, or if no cost
/// can be cut. Throws std::bad_alloc.
std::optional<Cost> cut_to_rest(const Cost& cost, std::span<const PlanTable* const> tables,
                                std::span<const WindowState> windows);

/// The least cost of each table. Throws std::bad_alloc.
Cost cut_to_least(const Cost& cost, std::span<const PlanTable* const> tables);

}  // namespace tollgate
