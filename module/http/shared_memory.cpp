#include "module/http/shared_memory.hpp"

#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

namespace tollgate::http {

namespace {

constexpr std::size_t kDefaultSize = std::size_t{8} << 20U;
constexpr std::size_t kSmallestSize = std::size_t{128} << 10U;

/// Enough for 280 plans and 20 Redis.
constexpr std::size_t kMostStatistics = std::size_t{128} << 10U;
static_assert(kSmallestSize / 32 >= StatisticsRegistry::kLeastMemory);

/// The name contains the number of the layout. nginx keeps a zone of the same name across a reload,
/// and an upgraded module must not misread the layout of an older one.
constexpr std::string_view kName = "tollgate-7";

ngx_slab_pool_t* slab_pool(const ngx_shm_zone_t* zone) {
    return reinterpret_cast<ngx_slab_pool_t*>(zone->shm.addr);
}

/// The entries for Redis and for the masters of clusters. Further ones share the last entry.
constexpr std::size_t kMostRedis = 128;

struct alignas(64) ZoneHeader {
    gateway::SharedNode node;
    std::array<gateway::SharedRedis, kMostRedis> redis;
    std::size_t size;  ///< of the memory after the header, in bytes
};

/// Initializes the zone. `zone->data` is the HttpBlock that add_zone set, and becomes the
/// ZoneHeader. At a reload, nginx passes the ZoneHeader of the previous cycle as `old`; otherwise
/// nullptr.
ngx_int_t init_zone(ngx_shm_zone_t* zone, void* old) noexcept {
    auto* pool = slab_pool(zone);
    auto* header = static_cast<ZoneHeader*>(old != nullptr ? old : pool->data);
    if (header == nullptr) {
        const std::size_t size = (pool->pfree - 1) * ngx_pagesize;
        header = static_cast<ZoneHeader*>(ngx_slab_calloc(pool, size));
        if (header == nullptr) {
            return NGX_ERROR;
        }
        header->size = size - sizeof(ZoneHeader);
        // Each zone needs its own id, because Redis distinguishes the reports of nodes by it.
        if (RAND_bytes(reinterpret_cast<unsigned char*>(&header->node.id),
                       sizeof(header->node.id)) != 1) {
            ngx_log_error(NGX_LOG_EMERG, zone->shm.log, 0,
                          "tollgate: no random number for the zone");
            return NGX_ERROR;
        }
        pool->data = header;
    }
    auto& block = *static_cast<HttpBlock*>(zone->data);
    zone->data = header;
    return guarded(zone->shm.log, static_cast<ngx_int_t>(NGX_ERROR), [&] {
        const std::span memory(reinterpret_cast<std::byte*>(header + 1), header->size);
        const std::size_t statistics = std::min(header->size / 16, kMostStatistics) / 64 * 64;
        block.memory =
            std::make_unique<SharedMemory>(pool->mutex, header->node, header->redis,
                                           memory.first(statistics), memory.subspan(statistics));
        return static_cast<ngx_int_t>(NGX_OK);
    });
}

}  // namespace

bool add_zone(ngx_conf_t* cf, HttpBlock& block) {
    MainConf& conf = block.conf;
    ngx_str_t name = borrow(kName);
    const std::size_t size = conf.zone_size != 0 ? conf.zone_size : kDefaultSize;
    conf.zone = ngx_shared_memory_add(cf, &name, size, &ngx_http_tollgate_module);
    if (conf.zone == nullptr) {
        return false;
    }
    conf.zone->init = init_zone;
    conf.zone->data = &block;
    return true;
}

char* read_zone_size(ngx_conf_t* cf, ngx_command_t* /*command*/, void* conf) noexcept {
    auto& main = static_cast<HttpBlock*>(conf)->conf;
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

std::array<StoreStatistics, kStores.size()> SharedMemory::stores() {
    const gateway::LockedZone zone(*this);
    std::array<StoreStatistics, kStores.size()> stores{};
    const auto fill = [&](Store store, const Occupancy& table) {
        stores[static_cast<std::size_t>(store)] = {table.size, table.used, table.evicted};
    };
    fill(Store::kKeys, zone.keys().small());
    fill(Store::kLongKeys, zone.keys().large());
    fill(Store::kUnknownKeys, zone.keys().unknown());
    fill(Store::kQuotas, zone.quotas().small());
    fill(Store::kLongQuotas, zone.quotas().large());
    fill(Store::kAddresses, zone.addresses().occupancy());
    return stores;
}

}  // namespace tollgate::http
