#pragma once

#include <optional>
#include <span>
#include <vector>

#include "module/engine/engine_context.hpp"
#include "module/engine/quota/acquire_waiter.hpp"
#include "module/quota/slice.hpp"
#include "module/zone/quota_cache.hpp"

namespace tollgate::engine {

/// Adds the counts to the statistics.
void count(RedisStatistics& statistics, const UnitCounts& counts) noexcept;

/// Keeps units of quotas for which the zone has no place.
class UnitKeeper {
  public:
    virtual ~UnitKeeper() = default;
    /// Takes over the units of a state. They are still in the state if it cannot keep more: false.
    /// The request may have other quotas, too.
    virtual bool keep(const AcquireRequest& request, const TableQuota& quota,
                      QuotaState& state) noexcept = 0;
};

/// The states of an id's quotas, loaded from its stripe, to be saved under the same lock; and its
/// ban, if the demand can be banned.
class LoadedStates : private Pinned {
  public:
    /// All arguments must outlive it. Throws std::bad_alloc if there are several quotas.
    LoadedStates(const LockedStripe& stripe, EngineContext& context, UnitKeeper& keeper,
                 const AcquireRequest& request);

    operator std::span<QuotaState>() { return states_; }
    operator std::span<const QuotaState>() const { return states_; }

    /// Where the only quota is, for the next request: see AcquireRequest::place. None if there are
    /// several.
    TablePosition place() const { return one_stored_ ? one_stored_->place : TablePosition{}; }

    /// Decisions are made in an outage, by this number of nodes.
    void share_among(std::int64_t nodes) noexcept;

    /// Finds free records in the zone for a slice, which is taken before save() and lives as long
    /// as these states. save() then writes them, for this worker process. False if there are too
    /// few. Throws std::bad_alloc.
    bool prepare_records(Slice& slice, std::uint32_t process);

    /// Saves the states, and adds their unit counts to the statistics. False if the zone has no
    /// room for one of them. If that state was not stored, the keeper takes its units, or they
    /// are lost, and counted as such. A state that owes more than a small
    /// place has room for is treated alike. If there is no room for its report, the state stays as
    /// it was in the zone, and its units are not counted.
    bool save(SteadyTime now) noexcept;
    /// Saves the states after a request that the leases have granted, and adds the spent units to
    /// the statistics. Nothing else may have changed than what spend_leases and note_arrivals
    /// change.
    void save_spent(SteadyTime now) noexcept;
    /// Saves the states as save() does. If the zone has no room for one of them, no units of any
    /// state are saved, and it returns false.
    bool save_all_or_none(SteadyTime now) noexcept;

  private:
    BanCache::Key ban_key() const { return {request_.id_hash, redis_}; }

    /// What becomes of owed units for which a small place has no room.
    enum class WithoutRoom : bool { kWorkerKeeps, kNothingChanges };
    bool save(SteadyTime now, WithoutRoom without_room) noexcept;
    void keep_units(std::size_t table) noexcept;

    const LockedStripe& stripe_;
    EngineContext& context_;
    UnitKeeper& keeper_;
    const AcquireRequest& request_;
    std::uint32_t redis_;
    /// Where a state is stored.
    struct Stored {
        Stored(const AcquireRequest& request, const TableQuota& quota, std::uint32_t redis)
            : key(request.place_of(quota, redis)) {}

        QuotaCache::Key key;
        TablePosition place{};
    };

    Ban ban_;  ///< as it is stored
    /// Most locations have one table, which needs no allocation.
    QuotaState one_;
    std::optional<Stored> one_stored_;
    std::vector<QuotaState> several_;
    std::vector<Stored> several_stored_;
    std::vector<SliceRecord*> records_;  ///< of `slice_`
    const Slice* slice_ = nullptr;
    std::uint32_t process_ = 0;
    std::span<QuotaState> states_;
    std::span<Stored> stored_;  ///< in the order of the states
};

}  // namespace tollgate::engine
