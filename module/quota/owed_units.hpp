#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "module/quota/local_decision.hpp"

namespace tollgate {

/// What an acquire contains in addition to its requests.
struct PreparedAcquire {
    std::int64_t cost = 0;      ///< of each request
    std::int64_t lease = 0;     ///< units to ask for beyond the requests
    std::int64_t strikes = 0;   ///< refusals that Redis has yet to count
    SteadyTime struck_since{};  ///< when the first of them was refused
    /// One for each window, in the order of the quotas; empty if nothing is adjusted.
    std::vector<Adjustment> adjustments{};
    /// One for each table: the number of its report; 0 if its adjustments have none. Empty if
    /// `adjustments` is.
    std::vector<std::uint64_t> report_numbers{};
    /// One for each table: QuotaState::counted_at at that time. Empty if `adjustments` is.
    std::vector<Instant> counted_at{};
    bool looks_for_ban = true;  ///< the reply tells whether the id is banned
};

/// Prepares an acquire. Owed units go into a numbered report, which stays in the state until Redis
/// acknowledges it: Redis counts them once, even if they are sent several times. Idle leases are
/// given back without a number. If that reply is lost, the lease is lost too, which costs the key
/// at most what was idle. The same holds for strikes: if that reply is lost, they are lost, so that
/// none counts twice. `last_report` is the node's last report number and is incremented; with
/// nullptr no report is made and owed units stay owed. `count` is the number of requests that the
/// acquire decides; note_arrivals has counted them. 0: it only reports, and asks for no lease.
PreparedAcquire prepare(std::span<QuotaState> states, const Quotas& quotas, const Demand& demand,
                        std::int64_t count, const ClockBounds& now, std::uint64_t* last_report);

/// Why an acquire has no result.
enum class AcquireFailure {
    kNotApplied,  ///< Redis refused it, or it was not sent
    kUnknown,     ///< Redis may have applied it
};

/// The acquire has no result: takes its adjustments back, or counts them as lost. Reports stay and
/// are sent again.
void restore(std::span<QuotaState> states, const Quotas& quotas, const PreparedAcquire& prepared,
             AcquireFailure failure);

/// Redis has applied the adjustments: reports end, and the node's own units are counted.
void acknowledge(std::span<QuotaState> states, const Quotas& quotas,
                 const PreparedAcquire& prepared);

/// Whether an acquire is due although no request comes: units are owed or in a report, or a lease
/// is idle (see is_idle).
bool needs_settling(const QuotaState& state, std::chrono::milliseconds horizon,
                    const ClockBounds& now);

/// Whether it has a lease, owed units or a report. Such a state must not be evicted.
bool is_held(const QuotaState& state);

}  // namespace tollgate
