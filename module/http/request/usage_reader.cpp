#include "module/http/request/usage_reader.hpp"

#include <chrono>
#include <string_view>

#include "module/body/response_usage.hpp"
#include "module/http/config/location_conf.hpp"
#include "module/text/ascii.hpp"

namespace tollgate::http {

namespace {

using body::ResponseUsage;

bool has_body(const ngx_http_request_t* r) {
    return r->method != NGX_HTTP_HEAD && r->headers_out.status != NGX_HTTP_NO_CONTENT &&
           r->headers_out.status != NGX_HTTP_NOT_MODIFIED;
}

bool is_encoded(const ngx_http_request_t* r) {
    const ngx_table_elt_t* encoding = r->headers_out.content_encoding;
    return encoding != nullptr && encoding->value.len != 0 &&
           !equals_ignoring_case(view(encoding->value), "identity");
}

void warn_of_encoding(const ngx_http_request_t* r, const ResponseUsageConf& conf) {
    if (conf.unreadable.admit(std::chrono::steady_clock::now())) {
        ngx_log_error(NGX_LOG_WARN, r->connection->log, 0,
                      "\"tollgate_response_usage\" does not read a response with "
                      "\"Content-Encoding\"");
    }
}

void read_buffer(ResponseUsage& usage, const ngx_buf_t* buffer) {
    if (ngx_buf_in_memory(buffer)) {
        usage.read({reinterpret_cast<const char*>(buffer->pos),
                    static_cast<std::size_t>(buffer->last - buffer->pos)});
    } else if (ngx_buf_size(buffer) != 0) {
        // nginx reads files into memory for this filter: another module's filter adds this one.
        usage.give_up();
    }
}

}  // namespace

void start_reading_usage(ngx_http_request_t* r) noexcept {
    const ResponseUsageConf* conf = LocationConf::of(r).response_usage;
    if (conf == nullptr || !has_body(r)) {
        return;
    }
    // A filter that fails, before a header is sent, has an error page sent in place of the
    // response.
    if (auto* before = find_pooled<ResponseUsage>(r->pool); before != nullptr) {
        before->give_up();
    }
    const auto format = body::format_of(view(r->headers_out.content_type));
    if (!format) {
        return;
    }
    if (is_encoded(r)) {
        warn_of_encoding(r, *conf);
        return;
    }
    guarded(r->connection->log, false, [&] {
        make_pooled<ResponseUsage>(r->pool, conf->pointers, *format);
        r->filter_need_in_memory = 1;
        return true;
    });
}

void read_usage(ngx_http_request_t* r, const ngx_chain_t* in) noexcept {
    if (in == nullptr || r != r->main || LocationConf::of(r).response_usage == nullptr) {
        return;
    }
    auto* usage = find_pooled<ResponseUsage>(r->pool);
    if (usage == nullptr) {
        return;
    }
    // A part of a document is another one. The filter that cuts it is called before this one.
    if (r->headers_out.status == NGX_HTTP_PARTIAL_CONTENT) {
        usage->give_up();
        return;
    }
    for (const ngx_chain_t* link = in; link != nullptr; link = link->next) {
        read_buffer(*usage, link->buf);
    }
}

std::optional<std::int64_t> response_usage_of(const ngx_http_request_t* r) noexcept {
    const auto* usage = find_pooled<ResponseUsage>(r->main->pool);
    return usage == nullptr ? std::nullopt : usage->sum();
}

}  // namespace tollgate::http
