#pragma once

#include <cstddef>
#include <cstdint>

#include "module/quota/quota_state.hpp"

// A bucket as a node knows it: from Redis's last reply, what Redis has yet to count, and in an
// outage the node's share. See bucket.hpp.
namespace tollgate {

/// The part of a quota that this node may grant alone: see share_of().
double share_part(const QuotaState& state, const TableQuota& quota);

/// The whole tokens that are left in a bucket, or in an outage in this node's share of it: see
/// left.
std::int64_t left_in_bucket(const QuotaState& state, const TableQuota& quota, std::size_t window,
                            Instant now);

/// When a bucket, or in an outage this node's share of it, grants `cost`.
ExactInstant bucket_grants_at(const QuotaState& state, const TableQuota& quota, std::size_t window,
                              Instant now, std::int64_t cost);

/// Lets the buckets refill that owe Redis something: by the node's share of their rates, since it
/// was owed. Redis's own debt refills first, then that of a report. Call it before and after a debt
/// is added to what is owed, and before it is reported.
void refill_owed(QuotaState& state, const TableQuota& quota, const ClockBounds& now);

/// Adds a debt, or takes it back, to what a bucket owes.
void owe_debt(QuotaState& state, std::size_t bucket, std::int64_t debt);

}  // namespace tollgate
