#pragma once

#include <span>
#include <vector>

#include "module/http/redis_client.hpp"
#include "module/http/zone.hpp"
#include "module/store/quota_cache.hpp"

namespace tollgate::http {

/// The states of an id's quotas, read from the zone. To be written back under the same lock.
class LoadedStates {
  public:
    /// All but `client` must outlive it. Throws std::bad_alloc where there are several quotas.
    LoadedStates(const LockedZone& zone, const RedisClient& client, const QuotaRequest& request);
    ~LoadedStates() = default;
    LoadedStates(const LoadedStates&) = delete;
    LoadedStates& operator=(const LoadedStates&) = delete;

    operator std::span<QuotaState>() { return states_; }
    operator std::span<const QuotaState>() const { return states_; }

    /// Writes them back, and counts what became of units. False where the zone has no room for one
    /// of them: that one is as it was, and its units are not counted.
    bool save(SteadyTime now) noexcept;

  private:
    QuotaCache::Key key_of(std::size_t quota) const {
        return {request_.id_hash, redis_, quotas_[quota], request_.api_key};
    }

    const LockedZone& zone_;
    RedisStatistics& statistics_;
    const QuotaRequest& request_;
    std::uint32_t redis_;
    const Quotas& quotas_;
    /// Most locations have one table: that needs no memory of its own.
    QuotaState one_;
    Place place_of_one_;
    std::vector<QuotaState> several_;
    std::vector<Place> places_of_several_;
    std::span<QuotaState> states_;
    std::span<Place> places_;
};

}  // namespace tollgate::http
