#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "module/core/acquire.hpp"
#include "module/core/redis_clock.hpp"

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
    bool operator==(const Arrivals&) const = default;
};

/// What a node knows of the quota of one id in one table, and what it may grant of it without
/// asking.
struct QuotaState {
    struct Window {
        WindowCount told;       ///< as Redis told it, the node's lease counted, and what it is
                                ///< being told
        std::int64_t owed = 0;  ///< to be added to it in Redis; below 0: to be given back
        bool operator==(const Window&) const = default;
    };
    std::array<Window, kMaxRates> windows{};  ///< in the order of the table's rates
    std::int64_t lease = 0;           ///< units that are counted already and not granted yet
    Instant told_at{};                ///< Redis's clock when it told; 0: never
    SteadyTime asked{};               ///< when it was last asked
    Instant banned_until{};           ///< of the id; only in the first table of those asked for
    std::int64_t strikes_told = 0;    ///< as `banned_until`
    std::int64_t strikes_untold = 0;  ///< as `banned_until`; refusals made here since
    Arrivals arrivals;
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

/// So many requests have come that ask this: see Arrivals.
void note_arrivals(std::span<QuotaState> states, const Demand& demand, std::int64_t count,
                   SteadyTime now);

/// Decides a request from what the node knows: grants from leases, refuses what is banned or
/// exhausted, for a second since Redis was asked. Notes what it did in `states`, one a table of
/// `quotas`, in its order. Exact: what it grants is counted in Redis, what it refuses Redis would
/// refuse but for what other nodes gave back since.
LocalAnswer decide(std::span<QuotaState> states, const Quotas& quotas, const Demand& demand,
                   const Moment& now);

/// The same while Redis is out of reach: counts on from what it told last, and remembers what it is
/// owed. Never kAsk.
LocalAnswer decide_alone(std::span<QuotaState> states, const Quotas& quotas, const Demand& demand,
                         const Moment& now);

/// What to tell Redis beside the requests themselves. Moves what is owed, and leases that are of no
/// use any more, out of `states`.
struct Tidings {
    std::int64_t lease = 0;
    std::int64_t strikes = 0;
    std::vector<Adjustment> adjustments;  ///< as Acquire has them
    std::vector<Instant> told_at;  ///< for restore: of each table, when they were prepared; or none
};
Tidings prepare(std::span<QuotaState> states, const Quotas& quotas, const Demand& demand,
                const Moment& now);

/// Leaves no lease: the next tidings give it back.
void give_back_leases(std::span<QuotaState> states, const Quotas& quotas);

/// Redis never got them, or so it seems: puts back what it is owed. What was to be given back is
/// lost, since it may have arrived.
void restore(std::span<QuotaState> states, const Quotas& quotas, const Tidings& tidings);

/// Takes in what Redis decided. A reply older than what is known changes nothing but the lease.
void take_in(std::span<QuotaState> states, const Quotas& quotas, const Acquired& acquired);

/// Whether Redis is to be told something though no request comes: a lease has been idle for a
/// second, something is owed, or strikes are untold.
bool needs_settling(std::span<const QuotaState> states, const Moment& now);
/// Whether there may be later.
bool may_need_settling(std::span<const QuotaState> states);

/// The moment, no earlier than when Redis told the states: by the clock's bounds alone a window
/// that has just begun may seem to be still to come, a whole second more to wait for its end.
Moment once_told(Moment now, std::span<const QuotaState> states);

/// The windows as a request leaves them; `refused`, of a request of this cost, marks those that are
/// exhausted.
std::vector<WindowState> windows_of(std::span<const QuotaState> states, const Quotas& quotas,
                                    const Moment& now, std::int64_t cost, bool refused);

}  // namespace tollgate
