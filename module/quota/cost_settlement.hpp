#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "module/plan/cost.hpp"
#include "module/quota/quota_state.hpp"

// A cost that is known when the request ends: the difference to what the request took before.
namespace tollgate {

/// The windows that count the units of a request, of all tables, in the order of
/// Acquire::adjustments. The request was granted just now from these states.
WindowCounts counting_windows(std::span<const QuotaState> states, const Quotas& quotas,
                              const ClockBounds& now);

/// Charges what a request has used beyond what it `reserved`, or refunds the rest, in the windows
/// that count it. A window that has ended meanwhile is not changed, unless it is a day of a
/// history. The tokens of a bucket are taken now; those that are given back never make it more than
/// full.
///
/// If a table has a lease in the same windows, a refund becomes a part of it, unless `is_recalled`,
/// and a charge that is not larger is taken from it. Otherwise the units are owed to Redis.
void settle_cost(std::span<QuotaState> states, const Quotas& quotas,
                 std::span<const WindowCount> counting, const Cost& reserved, const Cost& used,
                 bool is_recalled, const ClockBounds& now);

}  // namespace tollgate
