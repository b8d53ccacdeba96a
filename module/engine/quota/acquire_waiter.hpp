#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "module/key/digest.hpp"
#include "module/process/wait_list.hpp"
#include "module/quota/local_decision.hpp"
#include "module/quota/owed_units.hpp"
#include "module/zone/quota_cache.hpp"
#include "module/zone/zone.hpp"

namespace tollgate::engine {

/// Whose quotas to acquire, and for what.
struct AcquireRequest {
    std::string_view id;  ///< must live as long as the request
    IdHash id_hash{};
    std::uint64_t api_key = 0;  ///< KeyCache::Key::hash of the key that was sent
    std::shared_ptr<const Quotas> quotas;
    Demand demand;
    bool is_plain = false;       ///< see tollgate::is_plain
    bool returns_lease = false;  ///< without a request: returns the lease though it is not idle
    bool renews_lease = false;   ///< without a request: asks for a lease, see renewal_size
    /// The group of the id; empty: none. Must live as long as the request.
    std::string_view group{};
    IdHash group_hash{};
    std::uint64_t group_key = 0;  ///< KeyCache::Key::hash of the record of the group
    /// Where the zone had the quota if it is the only one: it is looked for there first.
    TablePosition place{};

    /// When the last change was noticed of the key, of its id, or of its group, in the Redis with
    /// this name_hash; 0: never.
    SteadyTime last_change(const Zone& zone, std::uint32_t redis) const {
        const SteadyTime of_key =
            std::max(zone.last_change_of(api_key), zone.last_change(redis, id_hash));
        return group_key == 0 ? of_key : std::max(of_key, zone.last_change_of(group_key));
    }
    /// The text whose slot has the quotas.
    std::string_view slot_text() const { return group.empty() ? id : group; }
    /// The hash that identifies the counters of the group. If the request is not that of a key, its
    /// id is the group.
    const IdHash& id_of_group() const { return group.empty() ? id_hash : group_hash; }
    /// Whether this quota belongs to the group, and the request is that of a key.
    bool is_of_group(const TableQuota& quota) const {
        return quota.by == CountedBy::kGroup && !group.empty();
    }
    /// Where the node stores this quota, in the Redis with this name_hash. All quotas of a request
    /// are in the stripe of `id_hash`. Refers to the texts of the request.
    QuotaCache::Key place_of(const TableQuota& quota, std::uint32_t redis) const {
        return is_of_group(quota) ? QuotaCache::Key({group}, group_hash, redis, quota, group_key)
                                  : QuotaCache::Key({id, group}, id_hash, redis, quota, api_key);
    }
};

/// How one request was decided, by Redis or by the node.
struct Decision {
    LocalAnswer answer = LocalAnswer::kAsk;  ///< kAsk: not at all
    WindowStates windows{};
    ExactInstant now{};      ///< Redis's clock
    Instant banned_until{};  ///< if banned
    bool is_alone = false;   ///< while Redis is unreachable
    /// The windows that count the request: see settle_cost. Empty unless it is granted, and its
    /// cost is settled.
    WindowCounts counting{};
};

/// Waits for the quotas of one request. May be destroyed at any time; no callback follows.
class AcquireWaiter : public WaitLink<AcquireWaiter> {
  public:
    virtual ~AcquireWaiter() = default;

    /// Redis decided the request; the answer is not kAsk.
    virtual void on_decision(Decision decision) noexcept = 0;
    /// A call for other requests of this id has ended. Its lease may serve this request: decide it
    /// again.
    virtual void on_retry() noexcept = 0;
    /// Redis gave no decision; `on_failure` applies. After AcquireFailure::kUnknown, Redis may have
    /// decided, and counted a strike.
    virtual void on_unavailable(AcquireFailure failure) noexcept = 0;
};

}  // namespace tollgate::engine
