#include "module/http/shared_memory.hpp"

#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <span>
#include <string>

#include "module/zone/named_blocks.hpp"

namespace tollgate::http {

namespace {

constexpr std::size_t kDefaultSize = std::size_t{8} << 20U;
/// The smallest size of `tollgate_zone`, in pages. The zones of the node and of each stripe lose a
/// few to nginx's slab allocator.
constexpr std::size_t kSmallestSize = 32;

/// Enough for 450 plans and 20 Redis. With 32 workers, 40 plans and 5 Redis have a block for each
/// worker.
constexpr std::size_t kMostStatistics = std::size_t{512} << 10U;
/// Enough for 13 plans and one Redis. With 2 workers, all of them have a block for each worker.
constexpr std::size_t kLeastStatistics = std::size_t{16} << 10U;
static_assert(kLeastStatistics >= StatisticsRegistry::kLeastMemory);

/// Bytes for changes. With 8m, up to 600 keys may change since a key was looked up, and this one is
/// taken for changed with a probability below 1/1000; with 128m, 9,600.
constexpr std::size_t kMostChanges = std::size_t{2} << 20U;
constexpr std::size_t kLeastChanges = 2 * sizeof(LatestTimes::Set);

/// The begin of the zones' names. It contains the number of the layout. nginx keeps a zone of the
/// same name across a reload, and an upgraded module must not misread the layout of an older one.
constexpr std::string_view kZoneName =
    kMeasuresLock ? std::string_view("tollgate-31-lock") : std::string_view("tollgate-31");

/// The entries for Redis and for the masters of clusters. Further ones take the place of those that
/// were not used for long.
constexpr std::size_t kMostRedis = 128;

/// The workers that count their holds of locks separately.
constexpr std::size_t kMostHolds = kMeasuresLock ? 32 : 0;

struct alignas(kCacheLine) NodeHeader {
    SharedNode node;
    std::array<SharedRedis, kMostRedis> redis;
    HourSamples hour;
    std::array<LockStatistics, kMostHolds> holds;
};

struct alignas(kCacheLine) StripeHeader {
    SharedStripe shared;
    std::size_t size;  ///< of the memory after the header, in bytes
};

/// The sizes of the zones for a `tollgate_zone`, in bytes. They depend only on its size.
struct ZoneSizes {
    explicit ZoneSizes(std::size_t zone)
        : statistics(std::clamp(zone / 16, kLeastStatistics, kMostStatistics) / kCacheLine *
                     kCacheLine),
          changes(std::bit_floor(std::clamp(zone / 64, kLeastChanges, kMostChanges))),
          stripes(stripes_of_zone(zone)) {
        // Three pages more: the rounding, ngx_slab_init's own data, and the page that
        // allocate_pages leaves. ngx_slab_init also takes a description for each page.
        const std::size_t pages = (sizeof(NodeHeader) + statistics + changes) / ngx_pagesize + 3;
        node = ngx_align(pages * (ngx_pagesize + sizeof(ngx_slab_page_t)), ngx_pagesize);
        stripe = (zone - node) / stripes / ngx_pagesize * ngx_pagesize;
    }

    std::size_t statistics;  ///< a part of the node's zone, like the next one
    std::size_t changes;
    std::size_t node;
    std::size_t stripes;  ///< their number
    std::size_t stripe;   ///< of one
};

ngx_slab_pool_t* slab_pool(const ngx_shm_zone_t* zone) {
    return reinterpret_cast<ngx_slab_pool_t*>(zone->shm.addr);
}

/// All pages of a zone, filled with zeros. Nothing if the zone is too small.
std::span<std::byte> allocate_pages(ngx_slab_pool_t* pool) {
    const std::size_t size = (pool->pfree - 1) * ngx_pagesize;
    auto* memory = static_cast<std::byte*>(ngx_slab_calloc(pool, size));
    return {memory, memory == nullptr ? 0 : size};
}

/// Initializes the zone of the node. `zone->data` is the HttpBlock that add_zones set, and becomes
/// the NodeHeader. At a reload, nginx passes the NodeHeader of the previous cycle as `old`;
/// otherwise nullptr.
ngx_int_t init_node(ngx_shm_zone_t* zone, void* old) noexcept {
    auto* pool = slab_pool(zone);
    auto& block = *static_cast<HttpBlock*>(zone->data);
    auto* header = static_cast<NodeHeader*>(old != nullptr ? old : pool->data);
    const ZoneSizes sizes(block.conf.zone_size);
    if (header == nullptr) {
        const std::span memory = allocate_pages(pool);
        if (memory.size() < sizeof(NodeHeader) + sizes.statistics + sizes.changes) {
            return NGX_ERROR;
        }
        header = reinterpret_cast<NodeHeader*>(memory.data());
        // Each zone needs its own id, because Redis distinguishes the reports of nodes by it.
        FieldSecret& secret = header->node.secret;
        if (RAND_bytes(reinterpret_cast<unsigned char*>(&header->node.id),
                       sizeof(header->node.id)) != 1 ||
            RAND_bytes(secret.data(), static_cast<int>(secret.size())) != 1) {
            ngx_log_error(NGX_LOG_EMERG, zone->shm.log, 0,
                          "tollgate: no random number for the zone");
            return NGX_ERROR;
        }
        pool->data = header;
    }
    zone->data = header;
    return guarded(zone->shm.log, static_cast<ngx_int_t>(NGX_ERROR), [&] {
        auto* rest = reinterpret_cast<std::byte*>(header + 1);
        const std::span changes(reinterpret_cast<LatestTimes::Set*>(rest + sizes.statistics),
                                sizes.changes / sizeof(LatestTimes::Set));
        block.memory = std::make_unique<SharedMemory>(pool->mutex, header->node, header->redis,
                                                      std::span(rest, sizes.statistics), changes,
                                                      header->hour, header->holds);
        return static_cast<ngx_int_t>(NGX_OK);
    });
}

/// Initializes the zone of a stripe. `zone->data` is the HttpBlock that add_zones set, and becomes
/// the StripeHeader. At a reload, nginx passes the StripeHeader of the previous cycle as `old`;
/// otherwise nullptr. nginx initializes zones in the order in which they were added.
ngx_int_t init_stripe(ngx_shm_zone_t* zone, void* old) noexcept {
    auto* pool = slab_pool(zone);
    auto& block = *static_cast<HttpBlock*>(zone->data);
    auto* header = static_cast<StripeHeader*>(old != nullptr ? old : pool->data);
    if (header == nullptr) {
        const std::span memory = allocate_pages(pool);
        if (memory.size() < sizeof(StripeHeader)) {
            return NGX_ERROR;
        }
        header = reinterpret_cast<StripeHeader*>(memory.data());
        header->size = memory.size() - sizeof(StripeHeader);
        pool->data = header;
    }
    zone->data = header;
    return guarded(zone->shm.log, static_cast<ngx_int_t>(NGX_ERROR), [&] {
        block.memory->add_stripe(pool->mutex, header->shared,
                                 std::span(reinterpret_cast<std::byte*>(header + 1), header->size));
        return static_cast<ngx_int_t>(NGX_OK);
    });
}

}  // namespace

bool add_zone(ngx_conf_t* cf, HttpBlock& block, std::string_view name, std::size_t size,
              ngx_shm_zone_init_pt init) {
    ngx_str_t copied = copy(cf->pool, name);
    ngx_shm_zone_t* zone = ngx_shared_memory_add(cf, &copied, size, &ngx_http_tollgate_module);
    if (zone == nullptr) {
        return false;
    }
    zone->init = init;
    zone->data = &block;
    return true;
}

bool add_zones(ngx_conf_t* cf, HttpBlock& block) {
    std::size_t& size = block.conf.zone_size;
    size = size != 0 ? size : kDefaultSize;
    const ZoneSizes sizes(size);
    // nginx creates all zones anew if the size changes.
    const std::string name = std::string(kZoneName) + "-" + std::to_string(size);
    bool is_added = add_zone(cf, block, name, sizes.node, init_node);
    for (std::size_t i = 0; i < sizes.stripes && is_added; ++i) {
        is_added = add_zone(cf, block, name + "-" + std::to_string(i), sizes.stripe, init_stripe);
    }
    return is_added;
}

char* read_zone_size(ngx_conf_t* cf, ngx_command_t* /*command*/, void* conf) noexcept {
    return read_once(cf, static_cast<HttpBlock*>(conf)->conf.zone_size, [](Words words) {
        ngx_str_t text = borrow(words[1]);
        const ssize_t size = ngx_parse_size(&text);
        if (size == NGX_ERROR) {
            throw ParseError("invalid zone size " + in_quotes(words[1]));
        }
        if (static_cast<std::size_t>(size) < kSmallestSize * ngx_pagesize) {
            throw ParseError("tollgate_zone " + in_quotes(words[1]) + " is too small: " +
                             std::to_string(kSmallestSize * ngx_pagesize / 1024) + "k at least");
        }
        return static_cast<std::size_t>(size);
    });
}

void SharedMemory::start_worker(std::size_t worker) noexcept {
    if (!holds_.empty()) {
        zone_.count_holds(holds_[worker % holds_.size()]);
    }
}

std::optional<LockStatistics> SharedMemory::holds() const {
    if (holds_.empty()) {
        return std::nullopt;
    }
    LockStatistics all;
    for (const LockStatistics& of_worker : holds_) {
        all.add(of_worker);
    }
    return all;
}

std::array<StoreStatistics, kStores.size()> SharedMemory::stores() {
    std::array<StoreStatistics, kStores.size()> stores{};
    const auto add = [&](Store store, const Occupancy& table) {
        StoreStatistics& all = stores[static_cast<std::size_t>(store)];
        all = {all.size + table.size, all.used + table.used, all.evictions + table.evicted};
    };
    for (std::size_t i = 0; i < zone_.stripes(); ++i) {
        const LockedStripe stripe(zone_, StripeNumber{i});
        add(Store::kKeys, stripe.keys().small());
        add(Store::kLongKeys, stripe.keys().large());
        add(Store::kUnknownKeys, stripe.keys().unknown());
        add(Store::kQuotas, stripe.quotas().small());
        add(Store::kLongQuotas, stripe.quotas().large());
        add(Store::kAddresses, stripe.addresses().occupancy());
    }
    return stores;
}

}  // namespace tollgate::http
