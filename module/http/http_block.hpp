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
    std::unique_ptr<SharedMemory> memory;          ///< set when nginx has made the zone
    std::unique_ptr<TlsSessionZone> tls_sessions;  ///< the same; nullptr if no Redis has TLS
    std::unique_ptr<Worker> worker;                ///< set while a worker runs

    HttpBlock();
    ~HttpBlock();
    HttpBlock(const HttpBlock&) = delete;
    HttpBlock& operator=(const HttpBlock&) = delete;

    static HttpBlock& of(ngx_conf_t* cf);
    static HttpBlock& of(ngx_http_request_t* r);
    /// nullptr if there is no http block.
    static HttpBlock* of(ngx_cycle_t* cycle);
};

/// nginx's create_main_conf.
void* create_http_block(ngx_conf_t* cf) noexcept;

}  // namespace tollgate::http
