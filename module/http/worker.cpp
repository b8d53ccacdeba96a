#include "module/http/worker.hpp"

#include "module/http/config/main_conf.hpp"
#include "module/http/redis_client.hpp"
#include "module/http/request/log_redaction.hpp"
#include "module/http/request/request_statistics.hpp"
#include "module/http/settlement.hpp"

namespace tollgate::http {

namespace {

bool serves_requests() {
    return ngx_process == NGX_PROCESS_WORKER || ngx_process == NGX_PROCESS_SINGLE;
}

}  // namespace

ngx_int_t start_worker(ngx_cycle_t* cycle) noexcept {
    MainConf* conf = MainConf::of(cycle);
    if (conf == nullptr || conf->tables.empty() || !serves_requests()) {
        return NGX_OK;
    }
    return guarded(cycle->log, static_cast<ngx_int_t>(NGX_ERROR), [&] {
        redact_error_logs(cycle);
        find_statistics(*conf);
        serving_workers(*conf).insert(ngx_worker, static_cast<std::uint32_t>(ngx_pid));
        for (const auto& redis : conf->redis) {
            redis->client = std::make_unique<RedisClient>(*conf, *redis, cycle->log);
        }
        return NGX_OK;
    });
}

void stop_worker(ngx_cycle_t* cycle) noexcept {
    MainConf* conf = MainConf::of(cycle);
    if (conf == nullptr) {
        return;
    }
    if (conf->zone_view != nullptr) {
        serving_workers(*conf).erase(ngx_worker, static_cast<std::uint32_t>(ngx_pid));
    }
    // Requests and calls may be under way. They end with the process: nothing of them is touched.
    for (const auto& redis : conf->redis) {
        if (redis->client) {
            redis->client->leave_statistics();
            redis->client.reset();
        }
    }
    release_error_logs(cycle);
}

}  // namespace tollgate::http
