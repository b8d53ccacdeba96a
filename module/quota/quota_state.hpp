#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "module/quota/acquire.hpp"
#include "module/quota/redis_clock.hpp"

namespace tollgate {

/// How much comes for an id, in units of cost: what came in the last 100 ms is what the next may
/// bring.
struct Arrivals {
    std::int64_t slot = 0;  ///< the 100 ms that `now` counts, by the steady clock
    std::int64_t now = 0;
    std::int64_t before = 0;  ///< in the slot before

    void note(SteadyTime time, std::int64_t units);
    /// What the next 100 ms may bring.
    std::int64_t expected(SteadyTime time) const;
    /// When the last one came, rounded up to 100 ms.
    SteadyTime last() const;
    bool operator==(const Arrivals&) const = default;
};

/// A report of one quota that was sent and is not acknowledged yet. It is sent again, unchanged and
/// under the same number, until a reply acknowledges it; Redis applies each number once.
struct Report {
    std::uint64_t number = 0;                         ///< grows from report to report of a node
    std::array<Adjustment, kMaxRates> adjustments{};  ///< in the order of the table's rates
    bool operator==(const Report&) const = default;
};

/// What became of units since a state was loaded, for statistics. Each unit counts once per quota,
/// by its longest window.
struct UnitCounts {
    std::int64_t spent = 0;     ///< of leases: granted to requests
    std::int64_t returned = 0;  ///< of leases: given back to Redis
    std::int64_t lost = 0;      ///< of leases: lapsed with their window, or the reply is missing
    std::int64_t noted = 0;     ///< granted alone
    std::int64_t settled = 0;   ///< granted alone: Redis has counted them
    std::int64_t lapsed = 0;    ///< granted alone: the window ended before Redis was told
    bool operator==(const UnitCounts&) const = default;
};

/// What a node knows of the quota of one id in one table, and what it may grant of it without
/// asking.
struct QuotaState {
    struct Window {
        WindowCount told;                ///< as Redis told it; the node's lease is counted in it
        std::int64_t owed = 0;           ///< to be added to it in Redis; below 0: to be given back
        std::int64_t owed_previous = 0;  ///< the same of the window before, where windows slide
        bool operator==(const Window&) const = default;
    };
    std::array<Window, kMaxRates> windows{};  ///< in the order of the table's rates
    std::int64_t lease = 0;           ///< units that are counted already and not granted yet
    Instant told_at{};                ///< Redis's clock when it told; 0: never
    SteadyTime asked{};               ///< when it was last asked
    Instant banned_until{};           ///< of the id; only in the first table of those asked for
    std::int64_t strikes_untold = 0;  ///< as `banned_until`; refusals made while Redis was out of
                                      ///< reach
    Arrivals arrivals;
    std::optional<Report> report;  ///< not yet acknowledged; not part of `owed`
    UnitCounts counts;             ///< not stored
    bool operator==(const QuotaState&) const = default;
};

/// What a request asks of its quotas.
struct Demand {
    std::int64_t cost = 1;
    std::optional<BanPolicy> ban;
    bool refusals_strike = true;
    SteadyTime changed{};  ///< when something of the id was last changed by an operator
};

/// An answer that needs no Redis, or that it does.
enum class LocalAnswer { kGranted, kLimited, kBanned, kAsk };

/// Notes that `count` requests of this demand have come: see Arrivals. Strikes that are older than
/// the policy counts are dropped.
void note_arrivals(std::span<QuotaState> states, const Demand& demand, std::int64_t count,
                   SteadyTime now);

/// Decides a request from what the node knows: grants from leases, refuses what is banned or
/// exhausted, for a second since Redis was asked. A refusal that counts towards a ban is left to
/// Redis, so that a ban begins with the same refusal on any number of nodes. Notes what it did in
/// `states`, one a table of `quotas`, in its order. Exact: what it grants is counted in Redis, what
/// it refuses Redis would refuse but for what other nodes gave back since.
LocalAnswer decide(std::span<QuotaState> states, const Quotas& quotas, const Demand& demand,
                   const Moment& now);

/// Decides a request while Redis is out of reach: counts on from what Redis told last, and
/// remembers what it is owed. Never kAsk.
LocalAnswer decide_alone(std::span<QuotaState> states, const Quotas& quotas, const Demand& demand,
                         const Moment& now);

/// The moment, no earlier than when Redis told the states: by the clock's bounds alone a window
/// that has just begun may seem to be still to come, a whole second more to wait for its end.
Moment once_told(Moment now, std::span<const QuotaState> states);

/// The windows as a request leaves them; `refused`, of a request of this cost, marks those that are
/// exhausted.
std::vector<WindowState> windows_of(std::span<const QuotaState> states, const Quotas& quotas,
                                    const Moment& now, std::int64_t cost, bool refused);

}  // namespace tollgate
