#include "module/http/endpoints/endpoints.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "module/http/http_block.hpp"
#include "module/http/nginx_environment.hpp"
#include "module/http/node_status.hpp"
#include "module/http/request/key_fields.hpp"
#include "module/http/shared_memory.hpp"
#include "module/http/worker.hpp"
#include "module/report/status.hpp"

namespace tollgate::http {

namespace {

/// The format that the argument `format` names, otherwise the one that `Accept` prefers. Returns
/// nullopt if `format` is unknown.
std::optional<StatusFormat> format_for(ngx_http_request_t* r) {
    ngx_str_t name = ngx_string("format");
    ngx_str_t value{};
    if (ngx_http_arg(r, name.data, name.len, &value) != NGX_OK) {
        return preferred_status_format(field_list(r, "Accept").value_or(""));
    }
    if (view(value) == "json") {
        return StatusFormat::kJson;
    }
    return view(value) == "prometheus" ? std::optional(StatusFormat::kPrometheus) : std::nullopt;
}

Status status_of(ngx_http_request_t* r) {
    const HttpBlock& block = HttpBlock::of(r);
    SharedMemory& memory = *block.memory;
    Status status = node_status(block.conf, memory);
    for (std::size_t i = 0; i < block.conf.redis.size() && block.worker != nullptr; ++i) {
        const auto redis =
            std::ranges::find(status.redis, block.conf.redis[i]->link.name, &Status::Redis::name);
        if (redis != status.redis.end()) {
            block.worker->clients()[i]->describe(*redis);
        }
    }
    const SteadyTime now = std::chrono::floor<SteadyTime>(NginxClock().steady());
    const LockedNode node(memory.zone());
    status.hour = memory.hour().hour(now);
    return status;
}

ngx_int_t send_status(ngx_http_request_t* r) {
    if (const ngx_int_t rc = allow_reading_only(r); rc != NGX_OK) {
        return rc;
    }
    const auto format = format_for(r);
    if (!format) {
        return NGX_HTTP_BAD_REQUEST;
    }
    const Status status = status_of(r);
    if (format == StatusFormat::kPrometheus) {
        return send_text(r, "text/plain; version=0.0.4; charset=utf-8", status_prometheus(status));
    }
    return send_text(r, "application/json", status_json(status));
}

ngx_int_t send_readiness(ngx_http_request_t* r) {
    if (const ngx_int_t rc = allow_reading_only(r); rc != NGX_OK) {
        return rc;
    }
    const Status status = status_of(r);
    return send_text(r, "application/json", readiness_json(status),
                     is_ready(status) ? NGX_HTTP_OK : NGX_HTTP_SERVICE_UNAVAILABLE);
}

}  // namespace

ngx_int_t handle_readiness(ngx_http_request_t* r) noexcept {
    return guarded(r, [&] { return send_readiness(r); });
}

ngx_int_t handle_status(ngx_http_request_t* r) noexcept {
    return guarded(r, [&] { return send_status(r); });
}

}  // namespace tollgate::http
