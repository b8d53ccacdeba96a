#pragma once

#include <cstdint>
#include <span>

#include "module/quota/local_decision.hpp"

namespace tollgate {

/// Prepares an acquire, without its id and quotas. Owed units and refunds go into a numbered
/// report, which stays in the state until Redis acknowledges it: Redis counts them once, even if
/// they are sent several times. Idle leases are returned without a number. If that reply is lost,
/// the lease is lost too, which costs the key at most what was idle. The same holds for strikes: if
/// that reply is lost, they are lost, so that none counts twice. `last_report` is the node's last
/// report number and is incremented; with nullptr no report is made and owed units stay owed.
/// `count` is the number of requests that the acquire decides; note_arrivals has counted them.
/// `lease` is the number of steps to lease in addition (see Cost). If both are 0, it only reports.
/// It names the lost calls of the states; then it should ask for no lease: its own call may be
/// lost, too.
Acquire prepare(std::span<QuotaState> states, const Quotas& quotas, const Demand& demand,
                std::int64_t count, std::int64_t lease, const ClockBounds& now,
                std::uint64_t* last_report);

/// Why an acquire has no result.
enum class AcquireFailure {
    kNotApplied,  ///< Redis refused it, or it was not sent
    kUnknown,     ///< Redis may have applied it
};

/// The acquire has no result: takes its adjustments back, or counts them as lost. Reports stay and
/// are sent again.
void restore(std::span<QuotaState> states, const Quotas& quotas, const Acquire& acquire,
             AcquireFailure failure);

/// Adds adjustments to what is owed that Redis has not applied. Those of a window that has ended
/// are dropped, unless it is a day of a history, or the previous one of a sliding window.
void owe_again(QuotaState& state, const TableQuota& quota, std::span<const Adjustment> adjustments);

/// Redis has applied the adjustments: reports end, and the node's own units are counted. `counted`
/// are the windows of all tables that Redis's reply has: it takes no units of a window that its
/// clock has not begun. Those are owed again.
void acknowledge(std::span<QuotaState> states, const Quotas& quotas, const Acquire& acquire,
                 std::span<const WindowCount> counted);

/// What tells when the units of a state need settling.
struct HeldUnits {
    bool owes = false;  ///< units are owed, or in a report, or calls are lost
    std::int64_t lease = 0;
    SteadyTime last_arrival{};
    SteadyTime asked{};  ///< QuotaState::asked
    bool operator==(const HeldUnits&) const = default;
};
HeldUnits held_units(const QuotaState& state);

/// When an acquire is due although no request comes: at once if units are owed or in a report, or
/// calls are lost, or when a lease is idle (see idle_at). Never if nothing is held.
SteadyTime settling_due(const HeldUnits& units, std::chrono::milliseconds horizon);

/// What is lost with a state: the units of its lease, owed units and report, and its lost calls.
UnitCounts lost_with(const QuotaState& state, const TableQuota& quota);

/// Whether it has a lease, owed units, a report or lost calls. Such a state must not be evicted.
bool is_held(const QuotaState& state);

}  // namespace tollgate
