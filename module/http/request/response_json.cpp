#include "module/http/request/response_json.hpp"

#include <chrono>
#include <string_view>

#include "module/body/value_reader.hpp"
#include "module/http/config/location_conf.hpp"
#include "module/http/config/variable.hpp"
#include "module/nginx/request_body.hpp"
#include "module/text/ascii.hpp"

namespace tollgate::http {

namespace {

/// A response that is read. The pool of the request owns it.
struct ResponseValues {
    ResponseValues(const JsonValuesConf& variables, body::Format format)
        : conf(variables), reader(variables.pointers, format) {}

    const JsonValuesConf& conf;
    body::ValueReader reader;
};

bool has_body(const ngx_http_request_t* r) {
    return r->method != NGX_HTTP_HEAD && r->headers_out.status != NGX_HTTP_NO_CONTENT &&
           r->headers_out.status != NGX_HTTP_NOT_MODIFIED;
}

bool is_encoded(const ngx_http_request_t* r) {
    const ngx_table_elt_t* encoding = r->headers_out.content_encoding;
    return encoding != nullptr && encoding->value.len != 0 &&
           !equals_ignoring_case(view(encoding->value), "identity");
}

void warn_of_encoding(const ngx_http_request_t* r, const JsonValuesConf& conf) {
    if (conf.unreadable.admit(std::chrono::steady_clock::now())) {
        ngx_log_error(NGX_LOG_WARN, r->connection->log, 0,
                      "\"tollgate_response_json\" does not read a response with "
                      "\"Content-Encoding\"");
    }
}

void read_buffer(body::ValueReader& reader, const ngx_buf_t* buffer) {
    if (ngx_buf_in_memory(buffer)) {
        reader.read(nginx::bytes_of(*buffer));
    } else if (ngx_buf_size(buffer) != 0) {
        // nginx reads files into memory for this filter: another module's filter adds this one.
        reader.give_up();
    }
}

std::string_view response_value(const ngx_http_request_t* r, std::string_view name) {
    const auto* values = find_pooled<ResponseValues>(r->main->pool);
    const JsonVariable* variable = values == nullptr ? nullptr : values->conf.find(name);
    return variable == nullptr ? std::string_view()
                               : values->reader.first_of(variable->first, variable->count);
}

}  // namespace

void start_reading_response(ngx_http_request_t* r) noexcept {
    const JsonValuesConf* conf = LocationConf::of(r).response_json;
    if (conf == nullptr || !has_body(r)) {
        return;
    }
    // A filter that fails, before a header is sent, has an error page sent in place of the
    // response.
    if (auto* before = find_pooled<ResponseValues>(r->pool); before != nullptr) {
        before->reader.give_up();
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
        make_pooled<ResponseValues>(r->pool, *conf, *format);
        r->filter_need_in_memory = 1;
        return true;
    });
}

void read_response(ngx_http_request_t* r, const ngx_chain_t* in) noexcept {
    if (in == nullptr || r != r->main || LocationConf::of(r).response_json == nullptr) {
        return;
    }
    auto* values = find_pooled<ResponseValues>(r->pool);
    if (values == nullptr) {
        return;
    }
    // A part of a document is another one. The filter that cuts it is called before this one.
    if (r->headers_out.status == NGX_HTTP_PARTIAL_CONTENT) {
        values->reader.give_up();
        return;
    }
    for (const ngx_chain_t* link = in; link != nullptr; link = link->next) {
        read_buffer(values->reader, link->buf);
    }
}

bool lacks_required_value(ngx_http_request_t* r) noexcept {
    const JsonValuesConf* conf = LocationConf::of(r).response_json;
    if (conf == nullptr || r->headers_out.status < NGX_HTTP_OK ||
        r->headers_out.status >= NGX_HTTP_SPECIAL_RESPONSE) {
        return false;
    }
    const JsonVariable* missing = conf->find_missing(
        [&](const JsonVariable& variable) { return response_value(r, variable.name); });
    if (missing != nullptr && conf->missing.admit(std::chrono::steady_clock::now())) {
        ngx_str_t name = borrow(missing->name);
        ngx_log_error(NGX_LOG_WARN, r->connection->log, 0,
                      "a response has no value for \"$%V\", which \"tollgate_response_json\" "
                      "requires; others are not logged for a minute",
                      &name);
    }
    return missing != nullptr;
}

ngx_int_t get_response_json(ngx_http_request_t* r, ngx_http_variable_value_t* value,
                            uintptr_t data) noexcept {
    return set_body_variable(r, value, response_value(r, name_of_variable(data)));
}

}  // namespace tollgate::http
