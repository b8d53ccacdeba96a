#pragma once

#include <chrono>
#include <cstdint>

#include "module/plan/rate.hpp"
#include "module/plan/window.hpp"

// Token buckets, by the generic cell rate algorithm (GCRA, ITU-T I.371): a bucket is known by how
// much it lacks to be full, and when. This is its debt. A token is a debt of one period in us, so a
// rate of N tokens in a period takes N off the debt in each us. All debts are whole numbers that a
// double represents exactly: the acquire script computes the same, and nothing is ever rounded.
//
// The WindowCount of a bucket has its rate as `number` (0: not known), its debt as `count`, and as
// `previous` when it had this debt, in us of Redis's clock. If the rate changes, the debt remains:
// it is not in units of the rate.
namespace tollgate {

/// The debt of one token.
constexpr std::int64_t token_debt(const Rate& rate) {
    return std::chrono::microseconds(rate.period.length()).count();
}

/// The debt of an empty bucket.
constexpr std::int64_t empty_debt(const Rate& rate) {
    return rate.burst * token_debt(rate);
}

/// The debt of so many tokens; below 0 for tokens that are given back. At most kMostDebt.
std::int64_t debt_of(const Rate& rate, std::int64_t tokens);

/// The debt at `now`; not changed if `now` is earlier than the bucket's time: a clock that went
/// back gives no tokens.
std::int64_t debt_at(const WindowCount& bucket, const Rate& rate, ExactInstant now);

/// The whole tokens in a bucket with this debt; below 0 if it owes more than its tokens.
std::int64_t tokens_left(const Rate& rate, std::int64_t debt);

/// When a bucket with this debt at `at` grants a request of this cost; at once if it has the
/// tokens. If the cost is above the burst, the bucket never grants it: then, when it is full.
ExactInstant granted_at(const Rate& rate, std::int64_t debt, ExactInstant at, std::int64_t cost);

/// In what time an empty bucket becomes full, rounded up.
std::chrono::seconds refill_time(const Rate& rate);

/// The length of a window that is shown, or the refill_time of a bucket.
std::chrono::seconds length_of(const WindowState& window);

}  // namespace tollgate
