#include "module/http/response/error_page.hpp"

namespace tollgate::http {

namespace {

/// The mark. Only its address is used; it is never sent. Not const: ngx_http_clear_accept_ranges
/// writes to its hash.
ngx_table_elt_t mark{};

}  // namespace

ngx_int_t mark_error_page(ngx_http_request_t* r) noexcept {
    if (r->err_status >= NGX_HTTP_BAD_REQUEST && r == r->main) {
        r->headers_out.accept_ranges = &mark;
    }
    return NGX_DECLINED;
}

bool is_builtin_error_page(ngx_http_request_t* r) {
    if (r->headers_out.accept_ranges == &mark) {
        r->headers_out.accept_ranges = nullptr;
        return false;
    }
    return r->err_status >= NGX_HTTP_BAD_REQUEST && r->headers_out.status == r->err_status &&
           r->headers_out.accept_ranges == nullptr;
}

}  // namespace tollgate::http
