#include "module/http/response/response.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace tollgate::http {

namespace {

ngx_table_elt_t* push_field(ngx_http_request_t* r, std::string_view name, ngx_str_t value) {
    auto* field = static_cast<ngx_table_elt_t*>(ngx_list_push(&r->headers_out.headers));
    if (field == nullptr) {
        throw std::bad_alloc();
    }
    *field = {};
    field->value = value;
    field->key = borrow(name);
    field->hash = 1;
    return field;
}

}  // namespace

ngx_table_elt_t* add_field(ngx_http_request_t* r, std::string_view name, std::string_view value) {
    return push_field(r, name, copy(r->pool, value));
}

void add_field(ngx_http_request_t* r, std::string_view name, std::int64_t value) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): to_chars fills it
    std::array<char, NGX_INT64_LEN> text;
    const char* end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    push_field(r, name, copy(r->pool, {text.data(), end}));
}

ngx_int_t allow_reading_only(ngx_http_request_t* r) {
    if ((r->method & (NGX_HTTP_GET | NGX_HTTP_HEAD)) == 0) {
        add_field(r, "Allow", "GET, HEAD");
        return NGX_HTTP_NOT_ALLOWED;
    }
    return ngx_http_discard_request_body(r);
}

ngx_int_t send_body(ngx_http_request_t* r, std::string_view media_type, std::string_view body) {
    r->headers_out.status = NGX_HTTP_OK;
    r->headers_out.content_length_n = static_cast<off_t>(body.size());
    r->headers_out.content_type = borrow(media_type);
    // The length without parameters, which filters compare.
    r->headers_out.content_type_len = std::min(media_type.size(), media_type.find(';'));
    r->headers_out.content_type_lowcase = nullptr;
    const ngx_int_t rc = ngx_http_send_header(r);
    if (rc == NGX_ERROR || rc > NGX_OK || r->header_only != 0) {
        return rc;
    }
    auto* buffer = static_cast<ngx_buf_t*>(ngx_calloc_buf(r->pool));
    if (buffer == nullptr) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
    const ngx_str_t bytes = borrow(body);
    buffer->pos = bytes.data;
    buffer->last = bytes.data + bytes.len;
    buffer->memory = 1;
    buffer->last_buf = r == r->main ? 1 : 0;
    buffer->last_in_chain = 1;
    ngx_chain_t chain{buffer, nullptr};
    return ngx_http_output_filter(r, &chain);
}

ngx_int_t send_text(ngx_http_request_t* r, std::string_view media_type, std::string text) {
    const auto& body = *make_pooled<std::string>(r->pool, std::move(text));
    add_field(r, "Cache-Control", "no-store");
    return send_body(r, media_type, body);
}

}  // namespace tollgate::http
