#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "module/plan/cost.hpp"
#include "module/plan/plan.hpp"
#include "module/plan/table_quota.hpp"
#include "module/plan/window.hpp"
#include "module/quota/lost_calls.hpp"
#include "module/quota/redis_clock.hpp"

namespace tollgate {

/// What a request asks of its quotas.
struct Demand {
    Cost cost{};                     ///< of each quota
    std::optional<BanPolicy> ban{};  ///< empty: bans are not checked
    bool refusals_strike = true;     ///< whether a refusal may be a strike: see strikes_in
    SteadyTime changed{};            ///< when an operator last changed the key or its id

    /// Whether a refusal by this quota is a strike: see BanPolicy::all_strike.
    bool strikes_in(const TableQuota& quota) const {
        return ban && refusals_strike && (ban->all_strike || quota.by == CountedBy::kId);
    }
};

/// A correction of a window's count, which Redis applies before it decides, if it still counts that
/// window, or if it has a history of its day. Above 0: units that were granted while Redis was
/// unreachable. Below 0: returned units of a lease. The units of a bucket are debt.
struct Adjustment {
    std::int64_t number = 0;  ///< of the window
    std::int64_t units = 0;
    std::int64_t previous = 0;  ///< for the window before, if windows slide or have a history; of a
                                ///< bucket, when its debt began to refill: Redis does not use it
    bool operator==(const Adjustment&) const = default;
};

/// What a node asks Redis for one id: to decide `count` equal requests, one after the other, over
/// all windows of all tables at once.
struct Acquire {
    std::string_view id;                   ///< must outlive this
    std::shared_ptr<const Quotas> quotas;  ///< at least one
    Demand demand{};                       ///< of each request
    std::int64_t count = 1;                ///< 0: only apply adjustments and count strikes
    std::int64_t lease = 0;  ///< steps to take in addition, if all are granted (see Cost); Redis
                             ///< grants at most an eighth of what is then left in any window
    bool is_lease_call = false;             ///< QuotaState::lease_calls counts it
    std::int64_t strikes = 0;               ///< refusals that the node made without Redis
    SteadyTime struck_since{};              ///< when the first of them was refused
    std::vector<Adjustment> adjustments{};  ///< for each window, in the order of `quotas`; or none
    /// For each table: the number of the report that its adjustments belong to. Redis applies each
    /// number once. 0: Redis applies the adjustments in any case. Empty if `adjustments` is.
    std::vector<std::uint64_t> report_numbers{};
    /// For each table, the calls whose units Redis takes back, before it decides: see LostCalls.
    /// Empty if `adjustments` is, or if there are none.
    std::vector<LostCalls> lost_calls{};
    SteadyTime prepared{};  ///< when it was prepared; it is sent later
    /// For each table: QuotaState::counted_at before the call. Empty if `adjustments` is.
    std::vector<Instant> counted_at{};
    std::string_view group{};  ///< of the id; empty: none. Must outlive this

    /// Whether it is a call that may bring units of this quota as a lease.
    bool is_lease_call_for(std::size_t quota) const {
        return is_lease_call && demand.cost.units_of_step(quota) > 0;
    }
};

/// The last lease of a table that other nodes got. Times are those of Redis's clock.
struct LeaseElsewhere {
    Instant at{};        ///< 0: there is none
    Instant recalled{};  ///< when the nodes were asked to return it: see kRecallHolds; 0: never
    bool operator==(const LeaseElsewhere&) const = default;
};

/// The answer of Redis. It grants the first `granted` requests, refuses the next `limited` because
/// a window is exhausted, and refuses the rest because of a ban.
struct Acquired {
    Instant now;  ///< Redis's clock
    std::int64_t granted = 0;
    std::int64_t limited = 0;
    std::int64_t lease = 0;    ///< in steps: see Cost
    Instant banned_until{};    ///< 0: not banned
    std::int64_t strikes = 0;  ///< counted now, within the ban policy's time
    WindowCounts windows{};    ///< afterwards, with the lease; as `adjustments`
    /// For each table, the number of the lost call that Redis has taken back; 0: none. Empty if the
    /// acquire names none.
    std::vector<std::uint64_t> taken_back{};
    /// For each table, if a further request would be refused. Empty if other nodes have no lease.
    std::vector<LeaseElsewhere> leased_elsewhere{};

    /// The units that were counted in a quota: of the granted requests and of the lease.
    std::int64_t units(const Cost& cost, std::size_t quota) const {
        return granted * cost.of(quota).units + lease * cost.units_of_step(quota);
    }
};

}  // namespace tollgate
