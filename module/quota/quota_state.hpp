#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "module/plan/units.hpp"
#include "module/quota/acquire.hpp"
#include "module/quota/lost_calls.hpp"
#include "module/quota/redis_clock.hpp"

namespace tollgate {

/// The units that requests of an id asked for lately: a count that decays exponentially. At a
/// steady rate its mean is the units of one time constant, also just before an arrival (Poisson
/// arrivals see time averages).
struct Arrivals {
    SteadyTime last{};  ///< of the last request that asked for units
    float units = 0;    ///< the count at that time

    /// Counts `count` units. `constant` is the time in which the count decays to 1/e.
    void note(SteadyTime now, std::int64_t count, SteadyTime constant) {
        if (count == 0) {
            return;
        }
        if (now > last) {
            units = static_cast<float>(at(now, constant));
            last = now;
        }
        units += static_cast<float>(count);
    }
    /// The count at `now`. Another worker's time may be a little ahead of `now`.
    double at(SteadyTime now, SteadyTime constant) const {
        if (now <= last || units == 0) {
            return units;
        }
        const auto elapsed = static_cast<float>((now - last).count());
        return units * std::exp(-elapsed / static_cast<float>(constant.count()));
    }
    bool operator==(const Arrivals&) const = default;
};

/// Owed units of one quota that were sent to Redis and are not acknowledged yet. The report is sent
/// again, unchanged and with the same number, until a reply acknowledges it. Redis applies each
/// number once.
struct Report {
    std::uint64_t number = 0;                           ///< grows from report to report of a node
    std::array<Adjustment, kMaxWindows> adjustments{};  ///< in the order of the table's rates
    bool operator==(const Report&) const = default;
};

/// The ban of an id, and its strikes that Redis has yet to count, as this node has them.
struct Ban {
    Instant until{};            ///< Redis's clock; 0: not banned
    std::int64_t strikes = 0;   ///< refusals while Redis was unreachable
    SteadyTime struck_since{};  ///< when the first of them was refused
    Instant told{};             ///< Redis's clock when it told `until`; 0: not banned
    bool operator==(const Ban&) const = default;
};

/// Units that changed hands since a state was loaded, for statistics. Each unit counts once for
/// each quota, by its longest window.
struct UnitCounts {
    std::int64_t spent = 0;     ///< of leases: granted to requests, not from a slice
    std::int64_t carried = 0;   ///< of leases: taken by a worker, into a slice, into a call that
                                ///< returns them, or because they have no place; below 0: no longer
    std::int64_t refunded = 0;  ///< by requests that used less than they took: they are like leased
    std::int64_t returned = 0;  ///< of leases: returned to Redis
    std::int64_t lost = 0;      ///< of leases: the window ended, or the reply is missing
    std::int64_t noted = 0;     ///< granted while Redis was unreachable
    std::int64_t settled = 0;   ///< of them: Redis counted them
    std::int64_t lapsed = 0;    ///< of them: the window ended before Redis counted them
    std::int64_t owed_carried = 0;  ///< of them: kept by a worker, because they have no place;
                                    ///< below 0: no longer
    // Calls, each once for each quota.
    std::int64_t calls_lost = 0;        ///< see LostCalls
    std::int64_t calls_taken_back = 0;  ///< of them: Redis has taken their units back
    std::int64_t calls_left = 0;        ///< of them: Redis has not, and is not asked any more
    bool operator==(const UnitCounts&) const = default;
};

/// The units of recalled leases, and those of slices, are given back in this time.
constexpr std::chrono::milliseconds kReturnsSoon{1000};

/// The largest QuotaState::lease_calls: it has 16 bits in the zone.
constexpr int kMostLeaseCalls = 65'535;

/// The quota of one id in one table, as this node has it: Redis's last counts, the node's lease,
/// and the units that Redis has yet to count.
struct QuotaState {
    struct Window {
        WindowCount counted;  ///< Redis's last count; it includes the lease
        Units owed;           ///< units for Redis to add; below 0: to return. Of a bucket: debt
        Units owed_previous;  ///< units for Redis to add to the window before, if windows slide
                              ///< or are the days of a history; below 0: to return. Of a bucket
                              ///< with a debt that is owed: when it was owed, SteadyTime
        bool operator==(const Window&) const = default;
    };
    std::array<Window, kMaxWindows> windows{};  ///< in the order of the table's rates
    Units lease;           ///< units that Redis counted and no request has taken
    std::int64_t own = 0;  ///< of the units that Redis counted in the longest window: those
                           ///< that this node asked for
    Instant counted_at{};  ///< Redis's clock when it counted; 0: never
    SteadyTime asked{};    ///< when Redis was last asked
    /// Calls of this node's workers that are under way and may bring a lease, at most
    /// kMostLeaseCalls. Calls of a worker that is killed are dropped by the next prepare.
    int lease_calls = 0;
    /// Redis's clock: until then, leases of other nodes and slices of this node's workers may give
    /// back units of a window that had none left at the last reply; 0: none are known.
    Instant returns_until{};
    bool returns_soon = false;  ///< `returns_until` is kReturnsSoon after such units were last seen
    Ban ban;                    ///< of the id; used in the first table only; stored in BanCache
    Arrivals arrivals;
    std::optional<Report> report;  ///< not acknowledged yet; not part of `owed`
    LostCalls lost_calls;          ///< the next acquires name them
    std::int64_t nodes = 0;        ///< in an outage: how many share what is left; not stored
    UnitCounts counts;             ///< not stored
    /// Owed units contain some that requests took and did not use: see prepare.
    bool owes_refund = false;

    /// Units may be given back until then, unless a later time is known.
    void expect_returns(Instant until, bool soon) {
        if (until > returns_until) {
            returns_until = until;
            returns_soon = soon;
        }
    }
    bool operator==(const QuotaState&) const = default;
};

}  // namespace tollgate
