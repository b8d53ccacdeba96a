#pragma once

#include <memory>

#include "module/http/config/main_conf.hpp"
#include "module/http/nginx.hpp"

namespace tollgate::http {

class SharedMemory;
class TlsSessionZone;
class Worker;

/// What the module keeps for an http block: the configuration, the zone as this process maps it,
/// and what this worker has built from both.
struct HttpBlock {
    MainConf conf;
    std::unique_ptr<SharedMemory> memory;  ///< set when nginx has made the zone
    /// Set when nginx has made the zone of the TLS sessions; nullptr if no Redis has TLS.
    std::unique_ptr<TlsSessionZone> tls_sessions;
    std::unique_ptr<Worker> worker;  ///< set while a worker runs

    static HttpBlock& of(ngx_conf_t* cf) {
        return *static_cast<HttpBlock*>(
            ngx_http_conf_get_module_main_conf(cf, ngx_http_tollgate_module));
    }
    static HttpBlock& of(ngx_http_request_t* r) {
        return *static_cast<HttpBlock*>(ngx_http_get_module_main_conf(r, ngx_http_tollgate_module));
    }
    /// nullptr if there is no http block.
    static HttpBlock* of(ngx_cycle_t* cycle) {
        return static_cast<HttpBlock*>(
            ngx_http_cycle_get_module_main_conf(cycle, ngx_http_tollgate_module));
    }
};

}  // namespace tollgate::http
