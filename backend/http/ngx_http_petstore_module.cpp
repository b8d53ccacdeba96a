// The module as nginx sees it: the `petstore` directive.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "backend/http/nginx.hpp"
#include "backend/http/pet_error_page.hpp"
#include "backend/http/pet_location.hpp"

namespace petstore {
namespace {

/// A pet needs no more than this, whatever the server allows; parsing holds up the event loop.
constexpr off_t kMaxBody = 1 << 20;

/// One for each database and thread pool, however many locations serve it.
using PetBackends = std::vector<std::unique_ptr<PetBackend>>;

PetBackend& backend_for(PetBackends& backends, const std::string& path, ngx_thread_pool_t* pool) {
    for (const auto& backend : backends) {
        if (backend->path == path && backend->pool == pool) {
            return *backend;
        }
    }
    backends.push_back(std::make_unique<PetBackend>(path, pool));
    return *backends.back();
}

void* create_main_conf(ngx_conf_t* cf) noexcept {
    return make_in_pool<PetBackends>(cf->pool);
}

void* create_srv_conf(ngx_conf_t* cf) noexcept {
    return ngx_pcalloc(cf->pool, sizeof(PetServer));
}

void* create_loc_conf(ngx_conf_t* cf) noexcept {
    return ngx_pcalloc(cf->pool, sizeof(PetLocation));
}

/// The thread pool of `threads=NAME`, or nginx's default one.
ngx_thread_pool_t* thread_pool(ngx_conf_t* cf, const ngx_str_t* parameter) {
    constexpr std::string_view kThreads = "threads=";
    if (parameter == nullptr) {
        return ngx_thread_pool_add(cf, nullptr);
    }
    if (!view(*parameter).starts_with(kThreads) || parameter->len == kThreads.size()) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid parameter \"%V\"", parameter);
        return nullptr;
    }
    ngx_str_t name{parameter->len - kThreads.size(), parameter->data + kThreads.size()};
    return ngx_thread_pool_add(cf, &name);
}

/// Only a prefix says where the base path ends.
bool is_prefix(const ngx_http_core_loc_conf_t& clcf) {
#if (NGX_PCRE)
    if (clcf.regex != nullptr) {
        return false;
    }
#endif
    return clcf.exact_match == 0 && clcf.named == 0;
}

/// petstore PATH [threads=POOL]
const char* set_location(ngx_conf_t* cf, PetLocation& location) {
    auto* const arguments = static_cast<ngx_str_t*>(cf->args->elts);
    auto* const clcf = static_cast<ngx_http_core_loc_conf_t*>(
        ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module));
    if (location.backend != nullptr) {
        return "is duplicate";
    }
    if (!is_prefix(*clcf)) {
        return "must stand in a location that is given by a prefix";
    }
    if (arguments[1].len == 0) {
        return "must name the file of the database";
    }
    ngx_str_t path = arguments[1];
    ngx_thread_pool_t* const pool = thread_pool(cf, cf->args->nelts > 2 ? &arguments[2] : nullptr);
    if (pool == nullptr || ngx_conf_full_name(cf->cycle, &path, 0) != NGX_OK) {
        return static_cast<const char*>(NGX_CONF_ERROR);
    }
    location.base_size = clcf->name.len - (view(clcf->name).ends_with('/') ? 1 : 0);
    auto& backends = *static_cast<PetBackends*>(
        ngx_http_conf_get_module_main_conf(cf, ngx_http_petstore_module));
    location.backend = &backend_for(backends, std::string{view(path)}, pool);
    auto& server =
        *static_cast<PetServer*>(ngx_http_conf_get_module_srv_conf(cf, ngx_http_petstore_module));
    server.serves_pets = true;
    clcf->handler = handle_pets;
    return NGX_CONF_OK;
}

char* set_petstore(ngx_conf_t* cf, ngx_command_t* /*command*/, void* conf) noexcept {
    const char* const failure = static_cast<const char*>(NGX_CONF_ERROR);
    // nginx only reads what it is given here.
    return const_cast<char*>(
        guarded(failure, [&] { return set_location(cf, *static_cast<PetLocation*>(conf)); }));
}

/// `if` and `limit_except` make nameless locations inside of ours, which are to serve the same.
/// The limit of the body is enforced here, where the client gets an Error body for it.
char* merge_loc_conf(ngx_conf_t* cf, void* parent, void* child) noexcept {
    const auto& outer = *static_cast<PetLocation*>(parent);
    auto& location = *static_cast<PetLocation*>(child);
    auto* const clcf = static_cast<ngx_http_core_loc_conf_t*>(
        ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module));
    if (clcf->noname != 0 && location.backend == nullptr && outer.backend != nullptr) {
        location = outer;
        if (clcf->lmt_excpt != 0 && clcf->handler == nullptr) {
            clcf->handler = handle_pets;
        }
    }
    if (location.backend != nullptr) {
        const off_t allowed = clcf->client_max_body_size;
        location.max_body =
            static_cast<std::size_t>(allowed == 0 ? kMaxBody : std::min(allowed, kMaxBody));
        clcf->client_max_body_size = 0;
    }
    return NGX_CONF_OK;
}

/// Only workers have threads: not the processes that look after caches.
ngx_int_t init_process(ngx_cycle_t* cycle) noexcept {
    if (ngx_process != NGX_PROCESS_WORKER && ngx_process != NGX_PROCESS_SINGLE) {
        return NGX_OK;
    }
    const auto* const backends = static_cast<PetBackends*>(
        ngx_http_cycle_get_module_main_conf(cycle, ngx_http_petstore_module));
    if (backends != nullptr) {
        for (const auto& backend : *backends) {
            backend->writes.open();
        }
    }
    return NGX_OK;
}

ngx_command_t commands[] = {{ngx_string("petstore"), NGX_HTTP_LOC_CONF | NGX_CONF_TAKE12,
                             set_petstore, NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
                            ngx_null_command};

ngx_http_module_t context = {
    nullptr,                     // preconfiguration
    install_error_page_filters,  // postconfiguration
    create_main_conf,            //
    nullptr,                     // init main configuration
    create_srv_conf,             //
    nullptr,                     // merge server configuration
    create_loc_conf,             //
    merge_loc_conf               //
};

}  // namespace
}  // namespace petstore

ngx_module_t ngx_http_petstore_module = {NGX_MODULE_V1,
                                         &petstore::context,
                                         petstore::commands,
                                         NGX_HTTP_MODULE,
                                         nullptr,  // init master
                                         nullptr,  // init module
                                         petstore::init_process,
                                         nullptr,  // init thread
                                         nullptr,  // exit thread
                                         nullptr,  // exit process
                                         nullptr,  // exit master
                                         NGX_MODULE_V1_PADDING};
