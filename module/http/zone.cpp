#include "module/http/zone.hpp"

#include <algorithm>
#include <cstddef>

#include "module/store/address_budgets.hpp"

namespace tollgate::http {

namespace {

constexpr std::size_t kDefaultSize = std::size_t{8} << 20U;
constexpr std::size_t kSmallestSize = std::size_t{128} << 10U;

/// Enough for 280 plans and 20 Redis.
constexpr std::size_t kMostStatistics = std::size_t{128} << 10U;
static_assert(kSmallestSize / 16 >= StatisticsRegistry::kLeastMemory);

/// The zone's name has the number of its layout: a reload takes over a zone by its name, and a
/// module that was upgraded mustn't misread what an older one wrote.
constexpr std::string_view kName = "tollgate-2";

/// What the zone holds at its start.
struct ZoneHeader {
    std::span<std::byte> budgets;
    std::span<std::byte> keys;
    std::span<std::byte> statistics;
};

/// Holds the mutex of the zone's slab pool: the one that nginx frees when a worker dies with it
/// (ngx_unlock_mutexes).
class ZoneLock {
  public:
    explicit ZoneLock(ngx_slab_pool_t* pool) : mutex_(&pool->mutex) { ngx_shmtx_lock(mutex_); }
    ~ZoneLock() { ngx_shmtx_unlock(mutex_); }
    ZoneLock(const ZoneLock&) = delete;
    ZoneLock& operator=(const ZoneLock&) = delete;

  private:
    ngx_shmtx_t* mutex_;
};

ngx_slab_pool_t* slab_pool(const ngx_shm_zone_t* zone) {
    return reinterpret_cast<ngx_slab_pool_t*>(zone->shm.addr);
}

/// Zeroed memory of the zone's; empty when it has no room.
std::span<std::byte> allocate(ngx_slab_pool_t* pool, std::size_t size) {
    auto* memory = static_cast<std::byte*>(ngx_slab_calloc(pool, size));
    return {memory, memory == nullptr ? 0 : size};
}

/// nginx's init of a zone: `old` is the context of the zone that this one takes over at a reload.
ngx_int_t init_zone(ngx_shm_zone_t* zone, void* old) noexcept {
    auto* pool = slab_pool(zone);
    if (old != nullptr) {
        zone->data = old;
        return NGX_OK;
    }
    if (zone->shm.exists != 0) {
        zone->data = pool->data;
        return NGX_OK;
    }
    auto* header = static_cast<ZoneHeader*>(ngx_slab_calloc(pool, sizeof(ZoneHeader)));
    if (header == nullptr) {
        return NGX_ERROR;
    }
    header->budgets = allocate(pool, zone->shm.size / 4);
    header->keys = allocate(pool, zone->shm.size / 2);
    header->statistics = allocate(pool, std::min(zone->shm.size / 16, kMostStatistics));
    if (header->budgets.empty() || header->keys.empty() || header->statistics.empty()) {
        return NGX_ERROR;
    }
    pool->data = header;
    zone->data = header;
    return NGX_OK;
}

/// Runs `use` with the zone's contents, under its lock.
template <typename Use>
auto with_zone(const MainConf& conf, Use use) {
    const ZoneLock lock(slab_pool(conf.zone));
    return use(*static_cast<const ZoneHeader*>(conf.zone->data));
}

}  // namespace

bool add_zone(ngx_conf_t* cf, MainConf& conf) {
    ngx_str_t name = borrow(kName);
    const std::size_t size = conf.zone_size != 0 ? conf.zone_size : kDefaultSize;
    conf.zone = ngx_shared_memory_add(cf, &name, size, &ngx_http_tollgate_module);
    if (conf.zone == nullptr) {
        return false;
    }
    conf.zone->init = init_zone;
    return true;
}

char* read_zone_size(ngx_conf_t* cf, ngx_command_t* /*command*/, void* conf) noexcept {
    auto& main = *static_cast<MainConf*>(conf);
    if (main.zone_size != 0) {
        return const_cast<char*>("is duplicate");
    }
    auto* words = static_cast<ngx_str_t*>(cf->args->elts);
    const ssize_t size = ngx_parse_size(&words[1]);
    if (size == NGX_ERROR) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid zone size \"%V\"", &words[1]);
        return conf_error();
    }
    if (static_cast<std::size_t>(size) < kSmallestSize) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "tollgate_zone \"%V\" is too small: 128k at least",
                           &words[1]);
        return conf_error();
    }
    main.zone_size = static_cast<std::size_t>(size);
    return conf_ok();
}

std::vector<WindowState> charge_address(const MainConf& conf, const PlanTable& table,
                                        const ClientAddress& address, std::int64_t cost,
                                        Instant now) {
    const AddressBudgets::Owner owner{name_id(table.name), address};
    return with_zone(conf, [&](const ZoneHeader& zone) {
        return AddressBudgets(zone.budgets).charge(owner, table.anonymous, cost, now);
    });
}

void remember_key(const MainConf& conf, const KnownKeys::Key& key, const KeyRecord& record,
                  Instant now) {
    with_zone(conf,
              [&](const ZoneHeader& zone) { KnownKeys(zone.keys).remember(key, record, now); });
}

void forget_key(const MainConf& conf, const KnownKeys::Key& key) {
    with_zone(conf, [&](const ZoneHeader& zone) { KnownKeys(zone.keys).forget(key); });
}

std::optional<KeyRecord> recall_key(const MainConf& conf, const KnownKeys::Key& key, Instant now) {
    constexpr std::chrono::hours kStale{1};
    return with_zone(conf, [&](const ZoneHeader& zone) {
        return KnownKeys(zone.keys).recall(key, now, kStale);
    });
}

StatisticsRegistry statistics_in(const MainConf& conf) {
    return StatisticsRegistry(static_cast<const ZoneHeader*>(conf.zone->data)->statistics);
}

void with_statistics(const MainConf& conf,
                     const std::function<void(const StatisticsRegistry&)>& use) {
    with_zone(conf, [&](const ZoneHeader& zone) { use(StatisticsRegistry(zone.statistics)); });
}

}  // namespace tollgate::http
