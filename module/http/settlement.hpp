#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "module/http/quota_waiter.hpp"
#include "module/redis/io/event.hpp"
#include "module/report/counter.hpp"
#include "module/store/key_cache.hpp"
#include "module/store/quota_cache.hpp"

namespace tollgate::http {

struct MainConf;
class LockedZone;
class RedisClient;

/// Makes a node tell Redis of quotas when no request does it: units granted while Redis was out of
/// reach, and leases that are idle. They lie in the zone, so that any worker finds them, whichever
/// granted them. One worker of the node looks every 250 ms.
class Settlement {
  public:
    explicit Settlement(RedisClient& client);
    ~Settlement() = default;
    Settlement(const Settlement&) = delete;
    Settlement& operator=(const Settlement&) = delete;

    /// Redis does not know the key with this KeyCache::Key::hash any more. Settles what its id
    /// holds at once: its record, from which the id is known, has left the zone. Throws
    /// std::bad_alloc.
    void settle_ended(const KeyCache::Found& ended, std::uint64_t api_key);

    /// A graceful shutdown of this worker has begun. Where no other worker serves this zone, each
    /// held quota is settled once, leases included; else that is left to the others.
    void shut_down();

    /// Whether this worker shuts down and no other serves the zone: leases then go back at once.
    bool returns_leases() const;

  private:
    enum class Which { kDue, kAll };
    void run() noexcept;
    void on_timer();
    bool claim_turn() const;
    bool settle(Which which);
    void settle(const QuotaCache::Held& held, std::string_view id, const Moment& now);
    /// The quotas of one table that are counted as the held one is; nullptr where the configuration
    /// has no such table any more.
    std::shared_ptr<const Quotas> quotas_of(const QuotaCache::Held& held);

    RedisClient& client_;
    QuotaCache::Cursor cursor_;
    std::vector<std::shared_ptr<const Quotas>> quotas_;  ///< as quotas_of made them; one table each
    bool is_shutting_down_ = false;
    redis::Event timer_;
};

/// The workers of a zone that serve requests and are not shutting down.
WorkerSet& serving_workers(const MainConf& conf);

}  // namespace tollgate::http
