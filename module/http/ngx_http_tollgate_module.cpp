// The gateway's nginx module: its directives, and the functions that nginx calls.

#include "module/http/config/key_sources.hpp"
#include "module/http/config/location_conf.hpp"
#include "module/http/config/main_conf.hpp"
#include "module/http/config/redis_block.hpp"
#include "module/http/config/subject_conf.hpp"
#include "module/http/config/sum_variable.hpp"
#include "module/http/config/warnings.hpp"
#include "module/http/endpoints/content_handler.hpp"
#include "module/http/http_block.hpp"
#include "module/http/nginx.hpp"
#include "module/http/redis/tls_session_zone.hpp"
#include "module/http/request/handlers.hpp"
#include "module/http/request/log_redaction.hpp"
#include "module/http/request/request_json.hpp"
#include "module/http/request/response_json.hpp"
#include "module/http/shared_memory.hpp"
#include "module/http/worker.hpp"

namespace tollgate::http {

namespace {

constexpr ngx_uint_t kEverywhere = NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF;

ngx_conf_enum_t header_families[] = {
    {ngx_string("off"), kNoHeaders},
    {ngx_string("x-ratelimit"), kXRateLimit},
    {ngx_string("ietf"), kIetf},
    {ngx_string("both"), kXRateLimit | kIetf},
    {ngx_null_string, 0},
};

ngx_conf_enum_t log_levels[] = {
    {ngx_string("info"), NGX_LOG_INFO},
    {ngx_string("notice"), NGX_LOG_NOTICE},
    {ngx_string("warn"), NGX_LOG_WARN},
    {ngx_string("error"), NGX_LOG_ERR},
    {ngx_null_string, 0},
};

JsonDirective request_json{.get = get_request_json, .is_of_request = true};
JsonDirective response_json{.get = get_response_json, .is_of_request = false};

ngx_command_t commands[] = {
    {ngx_string("tollgate_zone"), NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE1, read_zone_size,
     NGX_HTTP_MAIN_CONF_OFFSET, 0, nullptr},
    {ngx_string("tollgate_redis"), NGX_HTTP_MAIN_CONF | NGX_CONF_BLOCK | NGX_CONF_TAKE1,
     read_redis_block, NGX_HTTP_MAIN_CONF_OFFSET, 0, nullptr},
    {ngx_string("tollgate_plans"), NGX_HTTP_MAIN_CONF | NGX_CONF_BLOCK | NGX_CONF_1MORE,
     read_plans_block, NGX_HTTP_MAIN_CONF_OFFSET, 0, nullptr},
    {ngx_string("tollgate"), kEverywhere | NGX_CONF_1MORE, read_tollgate, NGX_HTTP_LOC_CONF_OFFSET,
     0, nullptr},
    {ngx_string("tollgate_key_from"), kEverywhere | NGX_CONF_1MORE, read_key_from,
     NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    {ngx_string("tollgate_subject"), kEverywhere | NGX_CONF_TAKE12, read_subject,
     NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    {ngx_string("tollgate_realm"), kEverywhere | NGX_CONF_TAKE1, ngx_http_set_complex_value_slot,
     NGX_HTTP_LOC_CONF_OFFSET, offsetof(LocationConf, realm), nullptr},
    {ngx_string("tollgate_headers"), kEverywhere | NGX_CONF_TAKE1, ngx_conf_set_enum_slot,
     NGX_HTTP_LOC_CONF_OFFSET, offsetof(LocationConf, headers), header_families},
    {ngx_string("tollgate_cost"), kEverywhere | NGX_CONF_TAKE1234, read_cost,
     NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    {ngx_string("tollgate_request_json"), kEverywhere | NGX_CONF_1MORE, read_json_values,
     NGX_HTTP_LOC_CONF_OFFSET, offsetof(LocationConf, request_json), &request_json},
    {ngx_string("tollgate_response_json"), kEverywhere | NGX_CONF_1MORE, read_json_values,
     NGX_HTTP_LOC_CONF_OFFSET, offsetof(LocationConf, response_json), &response_json},
    {ngx_string("tollgate_sum"), NGX_HTTP_MAIN_CONF | NGX_CONF_2MORE, read_sum,
     NGX_HTTP_MAIN_CONF_OFFSET, 0, nullptr},
    {ngx_string("tollgate_bypass"), kEverywhere | NGX_CONF_1MORE, ngx_http_set_predicate_slot,
     NGX_HTTP_LOC_CONF_OFFSET, offsetof(LocationConf, bypass), nullptr},
    {ngx_string("tollgate_scope"), kEverywhere | NGX_CONF_1MORE, read_scope,
     NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    {ngx_string("tollgate_dry_run"), kEverywhere | NGX_CONF_FLAG, ngx_conf_set_flag_slot,
     NGX_HTTP_LOC_CONF_OFFSET, offsetof(LocationConf, dry_run), nullptr},
    {ngx_string("tollgate_forward_authorization"), kEverywhere | NGX_CONF_FLAG,
     ngx_conf_set_flag_slot, NGX_HTTP_LOC_CONF_OFFSET,
     offsetof(LocationConf, forward_authorization), nullptr},
    {ngx_string("tollgate_json_errors"), kEverywhere | NGX_CONF_FLAG, ngx_conf_set_flag_slot,
     NGX_HTTP_LOC_CONF_OFFSET, offsetof(LocationConf, json_errors), nullptr},
    {ngx_string("tollgate_log_level"), kEverywhere | NGX_CONF_TAKE1, ngx_conf_set_enum_slot,
     NGX_HTTP_LOC_CONF_OFFSET, offsetof(LocationConf, log_level), log_levels},
    {ngx_string("tollgate_usage"), NGX_HTTP_LOC_CONF | NGX_CONF_NOARGS, read_usage,
     NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    {ngx_string("tollgate_status"), NGX_HTTP_LOC_CONF | NGX_CONF_NOARGS | NGX_CONF_TAKE1,
     read_status, NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    {ngx_string("tollgate_dashboard"), NGX_HTTP_LOC_CONF | NGX_CONF_NOARGS | NGX_CONF_TAKE1,
     read_dashboard, NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    {ngx_string("tollgate_admin"), NGX_HTTP_LOC_CONF | NGX_CONF_TAKE123, read_admin,
     NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    {ngx_string("tollgate_console"), NGX_HTTP_LOC_CONF | NGX_CONF_NOARGS | NGX_CONF_TAKE1,
     read_console, NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    ngx_null_command,
};

void* create_http_block(ngx_conf_t* cf) noexcept {
    return guarded<void*>(cf->log, nullptr, [&] { return make_pooled<HttpBlock>(cf->pool); });
}

/// Without a plan table, the module adds no handlers.
ngx_int_t finish_configuration(ngx_conf_t* cf) noexcept {
    return guarded(cf->log, static_cast<ngx_int_t>(NGX_ERROR), [&]() -> ngx_int_t {
        if (!check_variables(cf)) {
            return NGX_ERROR;
        }
        HttpBlock& block = HttpBlock::of(cf);
        MainConf& conf = block.conf;
        if (!find_resolvers(cf, conf) || !conf.resolve(cf) || !check_costs(cf)) {
            return NGX_ERROR;
        }
        if (conf.tables.empty()) {
            return NGX_OK;
        }
        warn_of_auth_basic(cf);
        warn_of_early_return(cf);
        warn_of_subjects(cf);
        warn_of_unread_bodies(cf);
        warn_of_costs(cf);
        warn_of_bans_without_strikes(cf);
        const bool done = resolve_key_sources(cf) && add_zones(cf, block) &&
                          add_tls_session_zone(cf, block) &&
                          add_first_log_handler(cf, settle_and_count) && add_field_stripping(cf) &&
                          substitute_removed_fields(cf) && add_log_redaction(cf) &&
                          (!conf.has_subjects || add_subject_counting(cf)) &&
                          !add_phase_handler(cf, NGX_HTTP_ACCESS_PHASE, handle_access).empty();
        return done ? NGX_OK : NGX_ERROR;
    });
}

ngx_http_module_t module_context = {
    add_variables,         // preconfiguration
    finish_configuration,  // postconfiguration
    create_http_block,     // create main configuration
    nullptr,               // init main configuration
    nullptr,               // create server configuration
    nullptr,               // merge server configuration
    create_location_conf,  // create location configuration
    merge_location_conf,   // merge location configuration
};

bool serves_requests() {
    return ngx_process == NGX_PROCESS_WORKER || ngx_process == NGX_PROCESS_SINGLE;
}

/// The init_process: makes the Worker, and keeps keys out of the worker's logs.
ngx_int_t start_worker(ngx_cycle_t* cycle) noexcept {
    HttpBlock* block = HttpBlock::of(cycle);
    if (block == nullptr || block->conf.tables.empty() || !serves_requests()) {
        return NGX_OK;
    }
    return guarded(cycle->log, static_cast<ngx_int_t>(NGX_ERROR), [&] {
        redact_error_logs(cycle);
        block->worker = std::make_unique<Worker>(block->conf, *block->memory,
                                                 block->tls_sessions.get(), cycle->log);
        return NGX_OK;
    });
}

/// The exit_process: destroys the Worker. nginx logs an alert for a socket that is still open.
void stop_worker(ngx_cycle_t* cycle) noexcept {
    HttpBlock* block = HttpBlock::of(cycle);
    if (block != nullptr) {
        block->worker.reset();
        release_error_logs(cycle);
    }
}

}  // namespace

}  // namespace tollgate::http

ngx_module_t ngx_http_tollgate_module = {
    NGX_MODULE_V1,
    &tollgate::http::module_context,
    static_cast<ngx_command_t*>(tollgate::http::commands),
    NGX_HTTP_MODULE,
    nullptr,                       // init master
    nullptr,                       // init module
    tollgate::http::start_worker,  // init process
    nullptr,                       // init thread
    nullptr,                       // exit thread
    tollgate::http::stop_worker,   // exit process
    nullptr,                       // exit master
    NGX_MODULE_V1_PADDING,
};
