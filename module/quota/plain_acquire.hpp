#pragma once

#include <span>

#include "module/quota/quota_state.hpp"

// Acquires that need nothing of the node's states. Most keys are rare: each of their requests needs
// one. Such an acquire is sent without loading and saving the states. They are loaded once, with
// its reply.
namespace tollgate {

/// Whether decide() answers LocalAnswer::kAsk, and prepare() would only ask for the decision of a
/// few requests like this one, if it was called soon: the states hold nothing (see is_held), no
/// strikes and no window that is full, and requests come too rarely for a lease, or the table
/// has none. If this changes before the call is sent, what is new waits for a later call.
bool is_plain(std::span<const QuotaState> states, const Quotas& quotas, const Demand& demand);

/// A part of that: whether the last count of Redis leaves room for the cost in a window, whichever
/// is current. Nothing is owed.
bool has_room(const WindowCount& counted, const Rate& rate, std::int64_t cost);

/// A part of that: whether these arrivals are too few for a lease, or the table has none.
bool is_rare(const Arrivals& arrivals, const TableQuota& quota, std::int64_t cost);

/// The reply to such an acquire of one table, if all requests were granted.
struct PlainReply {
    std::span<const WindowCount> windows;  ///< Acquired::windows
    Instant now;                           ///< Acquired::now
    SteadyTime sent;                       ///< when Redis was asked
    std::int64_t units = 0;                ///< that the requests took
    SteadyTime constant{};                 ///< of the arrivals: lease_horizon
};

/// Notes the requests of such an acquire, and that Redis was asked at `sent`. Call it before
/// apply_reply.
void note_plain(std::span<QuotaState> states, const Quotas& quotas, const Acquire& acquire,
                SteadyTime sent);

}  // namespace tollgate
