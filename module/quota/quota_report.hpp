#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "module/quota/quota_state.hpp"

namespace tollgate {

/// What an acquire tells Redis beside its requests.
struct Prepared {
    std::int64_t lease = 0;    ///< units to ask for beyond the requests
    std::int64_t strikes = 0;  ///< refusals that Redis does not know
    /// One a window, in the order of the quotas; empty where nothing is adjusted.
    std::vector<Adjustment> adjustments;
    /// One a table: the number of its report; 0 where its adjustments have none. Empty as
    /// `adjustments`.
    std::vector<std::uint64_t> report_numbers;
    /// One a table: QuotaState::told_at when they were prepared. Empty as `adjustments`.
    std::vector<Instant> told_at;
};

/// Prepares an acquire. Units granted alone go into a numbered report, which stays in the state
/// until Redis acknowledges it: Redis counts them once, however often they are sent. Leases that
/// are of no use any more are given back without a number: where the reply is missing they are
/// lost, which costs the key at most what was idle. `last_report` is the number that the node gave
/// last; it grows. nullptr: no report is made, and what is owed stays.
Prepared prepare(std::span<QuotaState> states, const Quotas& quotas, const Demand& demand,
                 const Moment& now, std::uint64_t* last_report);

/// What became of an acquire that has no result.
enum class Fate {
    kRefused,  ///< Redis did not apply it, or it was not sent
    kUnknown,  ///< Redis may have applied it
};

/// The acquire has no result. Reports stay, to be sent again.
void restore(std::span<QuotaState> states, const Quotas& quotas, const Prepared& prepared,
             Fate fate);

/// Takes what Redis decided, and acknowledges the reports that the acquire carried. A reply older
/// than what is known changes nothing but these and the lease.
void take_in(std::span<QuotaState> states, const Quotas& quotas, const Prepared& prepared,
             const Acquired& acquired);

/// Keeps units that Redis granted to requests which have ended meanwhile: they become part of the
/// lease, or are owed back where the table has no leases. After take_in.
void keep_unused(std::span<QuotaState> states, const Quotas& quotas, const Acquired& acquired,
                 std::int64_t units);

/// Owes all leases to Redis: the next prepare gives them back.
void give_back_leases(std::span<QuotaState> states, const Quotas& quotas);

/// Whether Redis must hear of this quota though no request comes: units are owed or reported, or a
/// lease was idle for a second.
bool needs_settling(const QuotaState& state, const Moment& now);

/// Whether it holds a lease, or anything that Redis does not know: such a state must not be
/// dropped.
bool is_held(const QuotaState& state);

}  // namespace tollgate
