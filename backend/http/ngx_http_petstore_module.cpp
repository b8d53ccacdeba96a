// The tables of the module that nginx reads, and the start of a worker.

#include "backend/http/nginx.hpp"
#include "backend/http/petstore_conf.hpp"
#include "backend/http/response_output.hpp"

namespace petstore {
namespace {

/// Opens the databases. Only workers have threads, but nginx calls this in cache manager processes
/// too.
ngx_int_t start_worker(ngx_cycle_t* cycle) noexcept {
    return guarded(cycle->log, static_cast<ngx_int_t>(NGX_ERROR), [&]() -> ngx_int_t {
        const MainConf* const conf = MainConf::of(cycle);
        const bool is_worker =
            ngx_process == NGX_PROCESS_WORKER || ngx_process == NGX_PROCESS_SINGLE;
        if (conf != nullptr && is_worker) {
            for (const auto& database : conf->databases) {
                database->writes.open_database();
            }
        }
        return NGX_OK;
    });
}

ngx_command_t commands[] = {
    {ngx_string("petstore"), NGX_HTTP_LOC_CONF | NGX_CONF_TAKE12, read_petstore,
     NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    ngx_null_command,
};

ngx_http_module_t context = {
    nullptr,                     // preconfiguration
    install_error_page_filters,  // postconfiguration
    create_main_conf,            // create main configuration
    nullptr,                     // init main configuration
    create_server_conf,          // create server configuration
    nullptr,                     // merge server configuration
    create_location_conf,        // create location configuration
    merge_location_conf,         // merge location configuration
};

}  // namespace
}  // namespace petstore

ngx_module_t ngx_http_petstore_module = {
    NGX_MODULE_V1,
    &petstore::context,
    static_cast<ngx_command_t*>(petstore::commands),
    NGX_HTTP_MODULE,
    nullptr,                 // init master
    nullptr,                 // init module
    petstore::start_worker,  // init process
    nullptr,                 // init thread
    nullptr,                 // exit thread
    nullptr,                 // exit process
    nullptr,                 // exit master
    NGX_MODULE_V1_PADDING,
};
