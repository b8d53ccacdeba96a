#include "backend/http/petstore_conf.hpp"

#include <algorithm>
#include <string_view>

namespace petstore {
namespace {

/// The largest body, whatever client_max_body_size allows: parsing blocks the event loop.
constexpr off_t kMaxBody = 1 << 20;

/// The thread pool of `threads=NAME`, or nginx's default one if `parameter` is nullptr. Returns
/// nullptr after a message in the log.
ngx_thread_pool_t* thread_pool(ngx_conf_t* cf, const ngx_str_t* parameter) {
    constexpr std::string_view kThreads = "threads=";
    if (parameter == nullptr) {
        return ngx_thread_pool_add(cf, nullptr);
    }
    if (!view(*parameter).starts_with(kThreads) || parameter->len == kThreads.size()) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid parameter \"%V\", use \"threads=POOL\"",
                           parameter);
        return nullptr;
    }
    ngx_str_t name = borrow(view(*parameter).substr(kThreads.size()));
    return ngx_thread_pool_add(cf, &name);
}

bool has_prefix(const ngx_http_core_loc_conf_t& location) {
    return !is_regex(location) && location.exact_match == 0 && location.named == 0;
}

}  // namespace

MainConf& MainConf::of(ngx_conf_t* cf) {
    return *static_cast<MainConf*>(
        ngx_http_conf_get_module_main_conf(cf, ngx_http_petstore_module));
}

MainConf* MainConf::of(ngx_cycle_t* cycle) {
    return static_cast<MainConf*>(
        ngx_http_cycle_get_module_main_conf(cycle, ngx_http_petstore_module));
}

ServerConf& ServerConf::of(ngx_conf_t* cf) {
    return *static_cast<ServerConf*>(
        ngx_http_conf_get_module_srv_conf(cf, ngx_http_petstore_module));
}

const ServerConf& ServerConf::of(ngx_http_request_t* r) {
    return *static_cast<ServerConf*>(ngx_http_get_module_srv_conf(r, ngx_http_petstore_module));
}

const LocationConf& LocationConf::of(ngx_http_request_t* r) {
    return *static_cast<LocationConf*>(ngx_http_get_module_loc_conf(r, ngx_http_petstore_module));
}

DatabaseQueues& MainConf::queues_for(const std::string& path, ngx_thread_pool_t* pool) {
    for (const auto& database : databases) {
        if (database->path == path && database->pool == pool) {
            return *database;
        }
    }
    databases.push_back(std::make_unique<DatabaseQueues>(path, pool));
    return *databases.back();
}

void* create_main_conf(ngx_conf_t* cf) noexcept {
    return guarded<void*>(cf->log, nullptr, [&] { return make_pooled<MainConf>(cf->pool); });
}

void* create_server_conf(ngx_conf_t* cf) noexcept {
    return ngx_pcalloc(cf->pool, sizeof(ServerConf));
}

void* create_location_conf(ngx_conf_t* cf) noexcept {
    return ngx_pcalloc(cf->pool, sizeof(LocationConf));
}

/// The nameless locations of `if` and `limit_except` serve what the location around them serves.
/// The module enforces client_max_body_size itself, to send an Error body.
char* merge_location_conf(ngx_conf_t* cf, void* parent, void* child) noexcept {
    const auto& outer = *static_cast<const LocationConf*>(parent);
    auto& location = *static_cast<LocationConf*>(child);
    auto& core = core_location(cf);
    if (core.noname != 0 && location.queues == nullptr && outer.queues != nullptr) {
        location = outer;
        if (core.lmt_excpt != 0 && core.handler == nullptr) {
            core.handler = handle_petstore;
        }
    }
    if (location.queues != nullptr) {
        const off_t allowed = core.client_max_body_size;
        location.max_body =
            static_cast<std::size_t>(allowed == 0 ? kMaxBody : std::min(allowed, kMaxBody));
        core.client_max_body_size = 0;
    }
    return conf_ok();
}

char* read_petstore(ngx_conf_t* cf, ngx_command_t* /*command*/, void* conf) noexcept {
    return guarded(cf->log, conf_error(), [&]() -> char* {
        auto& location = *static_cast<LocationConf*>(conf);
        auto& core = core_location(cf);
        auto* const words = static_cast<ngx_str_t*>(cf->args->elts);
        if (location.queues != nullptr) {
            return const_cast<char*>("is duplicate");
        }
        if (!has_prefix(core)) {
            return const_cast<char*>("needs a location with a prefix, such as \"location /v1/\"");
        }
        if (words[1].len == 0) {
            return const_cast<char*>("has an empty path; name the database file");
        }
        ngx_str_t path = words[1];
        ngx_thread_pool_t* const pool = thread_pool(cf, cf->args->nelts > 2 ? &words[2] : nullptr);
        if (pool == nullptr || ngx_conf_full_name(cf->cycle, &path, 0) != NGX_OK) {
            return conf_error();
        }
        location.base_length = core.name.len - (view(core.name).ends_with('/') ? 1 : 0);
        location.queues = &MainConf::of(cf).queues_for(std::string{view(path)}, pool);
        ServerConf::of(cf).has_petstore = true;
        core.handler = handle_petstore;
        return conf_ok();
    });
}

}  // namespace petstore
