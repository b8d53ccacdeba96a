#pragma once

#include <memory>
#include <string>
#include <vector>

#include "module/engine/quota/acquire_waiter.hpp"
#include "module/engine/quota/loaded_states.hpp"
#include "module/process/environment.hpp"
#include "module/report/statistics.hpp"
#include "module/zone/quota_cache.hpp"

namespace tollgate::engine {

/// Units of quotas that a worker keeps because the zone has no place for them: see
/// LoadedStates::save.
class UnstoredUnits final : public UnitKeeper {
  public:
    /// Units of so many quotas are kept. A turn of the worker tries to store all.
    static constexpr std::size_t kMost = 512;

    /// The statistics must outlive it.
    explicit UnstoredUnits(RedisStatistics& statistics) : statistics_(statistics) {}
    /// What is left is lost.
    ~UnstoredUnits() override;
    UnstoredUnits(const UnstoredUnits&) = delete;
    UnstoredUnits& operator=(const UnstoredUnits&) = delete;

    /// Takes the units of a state for which the zone has no place. They are still in the state if
    /// there are too many, or if memory is short: false. The request may have other quotas, too.
    bool keep(const AcquireRequest& request, const TableQuota& quota,
              QuotaState& state) noexcept override;

    /// Stores what has a place by now. Throws std::bad_alloc.
    void store(EngineContext& context);

  private:
    /// The units of one quota.
    struct Entry : private Pinned {
        Entry(const AcquireRequest& of, const TableQuota& quota);

        QuotaCache::StoredKey key;
        std::string id;
        std::string group;
        AcquireRequest request;  ///< for the quota only
        QuotaState state;        ///< see take_unstored
    };
    Entry* entry_for(const AcquireRequest& request, const TableQuota& quota) noexcept;
    bool store(Entry& entry, EngineContext& context);
    bool drop_ended(const Entry& entry, const ClockBounds& now);

    RedisStatistics& statistics_;
    std::vector<std::unique_ptr<Entry>> entries_;
};

}  // namespace tollgate::engine
