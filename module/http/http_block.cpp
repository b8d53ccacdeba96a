#include "module/http/http_block.hpp"

#include "module/http/shared_memory.hpp"
#include "module/http/tls_session_zone.hpp"
#include "module/http/worker.hpp"

namespace tollgate::http {

HttpBlock::HttpBlock() = default;
HttpBlock::~HttpBlock() = default;

HttpBlock& HttpBlock::of(ngx_conf_t* cf) {
    return *static_cast<HttpBlock*>(
        ngx_http_conf_get_module_main_conf(cf, ngx_http_tollgate_module));
}

HttpBlock& HttpBlock::of(ngx_http_request_t* r) {
    return *static_cast<HttpBlock*>(ngx_http_get_module_main_conf(r, ngx_http_tollgate_module));
}

HttpBlock* HttpBlock::of(ngx_cycle_t* cycle) {
    return static_cast<HttpBlock*>(
        ngx_http_cycle_get_module_main_conf(cycle, ngx_http_tollgate_module));
}

void* create_http_block(ngx_conf_t* cf) noexcept {
    return guarded<void*>(cf->log, nullptr, [&] { return make_pooled<HttpBlock>(cf->pool); });
}

}  // namespace tollgate::http
