#include "module/http/zone.hpp"

#include "module/store/address_budgets.hpp"

namespace tollgate::http {

namespace {

constexpr std::size_t kDefaultSize = std::size_t{8} << 20U;
constexpr std::size_t kSmallestSize = std::size_t{128} << 10U;

/// What the zone holds at its start. Changing it needs a new layout number, so that a reload
/// doesn't misread it.
struct ZoneHeader {
    static constexpr std::uint64_t kLayout = 1;
    std::uint64_t layout;
    std::byte* budgets;
    std::size_t budgets_size;
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
    header->layout = ZoneHeader::kLayout;
    header->budgets_size = zone->shm.size / 2;
    header->budgets = static_cast<std::byte*>(ngx_slab_calloc(pool, header->budgets_size));
    if (header->budgets == nullptr) {
        return NGX_ERROR;
    }
    pool->data = header;
    zone->data = header;
    return NGX_OK;
}

}  // namespace

bool add_zone(ngx_conf_t* cf, MainConf& conf) {
    if (conf.tables.empty()) {
        return true;
    }
    ngx_str_t name = ngx_string("tollgate");
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
    const auto* header = static_cast<const ZoneHeader*>(conf.zone->data);
    AddressBudgets budgets({header->budgets, header->budgets_size});
    const ZoneLock lock(slab_pool(conf.zone));
    return budgets.charge({AddressBudgets::table_id(table.name), address}, table.anonymous, cost,
                          now);
}

}  // namespace tollgate::http
