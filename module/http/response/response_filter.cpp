#include "module/http/response/response_filter.hpp"

#include <string>

#include "module/http/request/key_fields.hpp"
#include "module/http/request/request_context.hpp"
#include "module/http/request/response_json.hpp"
#include "module/http/response/cached_copies.hpp"
#include "module/nginx/response.hpp"
#include "module/report/error_body.hpp"

namespace tollgate::http {

namespace {

ngx_http_output_header_filter_pt next_header_filter;
ngx_http_output_body_filter_pt next_body_filter;

/// Never sent: only its address counts. ngx_http_clear_accept_ranges writes to its hash.
ngx_table_elt_t error_page_mark{};

/// Whether the response whose header is sent now is nginx's built-in error page. Removes the mark:
/// call it once.
bool is_builtin_error_page(ngx_http_request_t* r) {
    if (r->headers_out.accept_ranges == &error_page_mark) {
        r->headers_out.accept_ranges = nullptr;
        return false;
    }
    return r->err_status >= NGX_HTTP_BAD_REQUEST && r->headers_out.status == r->err_status &&
           r->headers_out.accept_ranges == nullptr;
}

/// Replaces nginx's built-in error page: for each refusal of Tollgate, and with
/// `tollgate_json_errors` for every error.
void replace_error_page(ngx_http_request_t* r) {
    const RequestContext* context = RequestContext::find(r);
    const auto status = static_cast<int>(r->headers_out.status);
    const bool refused = context != nullptr && context->refuses();
    if (!refused && LocationConf::of(r).json_errors == 0) {
        return;
    }
    // The status differs from that of the refusal if nginx did not find the page of `error_page`.
    const bool is_own = refused && context->outcome().status == status;
    const Error error = is_own ? context->outcome().error : error_of_status(status);
    const Limiter limiter = is_own ? context->outcome().limiter() : Limiter{};
    const ErrorFormat format = preferred_error_format(field_list(r, "Accept").value_or(""));
    const std::string_view text =
        limiter.table.empty() ? std::string_view(error_body(format, error, status))
                              : view(copy(r->pool, error_body(format, error, status, limiter)));
    auto* body = make_pooled<nginx::ReplacementBody>(r->pool, text);
    ngx_http_set_ctx(r, body, ngx_http_tollgate_filter_module);
    nginx::describe_body(r, media_type(format), body->size());
    nginx::add_literal_field(r, "Vary", "Accept");
}

ngx_int_t header_filter(ngx_http_request_t* r) noexcept {
    forbid_shared_copy(r);
    if (r != r->main) {
        return next_header_filter(r);
    }
    // Before nginx's error page is replaced: that one is not JSON, so it is not read.
    start_reading_response(r);
    add_response_fields(r);
    // If memory is short, the client gets nginx's page.
    guarded(r->connection->log, false, [&] {
        if (is_builtin_error_page(r)) {
            replace_error_page(r);
        }
        return true;
    });
    return next_header_filter(r);
}

ngx_int_t body_filter(ngx_http_request_t* r, ngx_chain_t* in) noexcept {
    auto* body = static_cast<nginx::ReplacementBody*>(
        ngx_http_get_module_ctx(r, ngx_http_tollgate_filter_module));
    const bool is_replaced = body != nullptr && r == r->main && in != nullptr;
    if (!is_replaced) {
        read_response(r, in);
    }
    return is_replaced ? body->send(r, in, next_body_filter) : next_body_filter(r, in);
}

}  // namespace

ngx_int_t mark_error_page(ngx_http_request_t* r) noexcept {
    if (r->err_status >= NGX_HTTP_BAD_REQUEST && r == r->main) {
        r->headers_out.accept_ranges = &error_page_mark;
    }
    return NGX_DECLINED;
}

ngx_int_t install_response_filters(ngx_conf_t* /*cf*/) noexcept {
    next_header_filter = ngx_http_top_header_filter;
    ngx_http_top_header_filter = header_filter;
    next_body_filter = ngx_http_top_body_filter;
    ngx_http_top_body_filter = body_filter;
    return NGX_OK;
}

}  // namespace tollgate::http
