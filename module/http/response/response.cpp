#include "module/http/response/response.hpp"

#include <array>
#include <charconv>

namespace tollgate::http {

void add_field(ngx_http_request_t* r, std::string_view name, std::int64_t value) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): to_chars fills it
    std::array<char, NGX_INT64_LEN> text;
    const char* end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    add_field(r, name, std::string_view(text.data(), end));
}

ngx_int_t allow_reading_only(ngx_http_request_t* r) {
    if ((r->method & (NGX_HTTP_GET | NGX_HTTP_HEAD)) == 0) {
        add_field(r, "Allow", "GET, HEAD");
        return NGX_HTTP_NOT_ALLOWED;
    }
    return ngx_http_discard_request_body(r);
}

ngx_int_t send_body(ngx_http_request_t* r, std::string_view media_type, std::string_view body,
                    ngx_uint_t status) {
    r->headers_out.status = status;
    nginx::describe_body(r, media_type, body.size());
    return nginx::send_header_and_body(r, body);
}

ngx_int_t send_text(ngx_http_request_t* r, std::string_view media_type, std::string text,
                    ngx_uint_t status) {
    const auto& body = *make_pooled<std::string>(r->pool, std::move(text));
    add_field(r, "Cache-Control", "no-store");
    return send_body(r, media_type, body, status);
}

}  // namespace tollgate::http
