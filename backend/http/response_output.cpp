#include "backend/http/response_output.hpp"

#include <string>
#include <utility>

#include "backend/core/pet_response.hpp"
#include "backend/http/petstore_conf.hpp"
#include "module/nginx/response.hpp"

namespace petstore {
namespace {

ngx_http_output_header_filter_pt next_header_filter;
ngx_http_output_body_filter_pt next_body_filter;

/// The Error body that replaces nginx's page. It is in the request's pool and not in the module's
/// context, because the context may hold a body (request_body.cpp) and nginx may clear it. The type
/// is this module's own, so that find_pooled() finds no body of another module.
struct ErrorBody : tollgate::nginx::ReplacementBody {
    using ReplacementBody::ReplacementBody;
};

/// Whether the request is in a location with `petstore`, or outside of all locations in a server
/// that has one.
bool is_for_petstore(ngx_http_request_t* r) {
    if (LocationConf::of(r).queues != nullptr) {
        return true;
    }
    const auto* const server = static_cast<ngx_http_core_srv_conf_t*>(
        ngx_http_get_module_srv_conf(r, ngx_http_core_module));
    return ServerConf::of(r).has_petstore && r->loc_conf == server->ctx->loc_conf;
}

/// nginx sets err_status for its own errors only. It then sends its built-in page, or redirects the
/// request to a page of `error_page`.
bool is_builtin_error_page(ngx_http_request_t* r) {
    return r == r->main && r->internal == 0 && r->err_status >= NGX_HTTP_BAD_REQUEST &&
           r->headers_out.status == r->err_status;
}

void replace_error_page(ngx_http_request_t* r) {
    const Response response = error_of_status(static_cast<int>(r->headers_out.status));
    const auto* const body = make_pooled<ErrorBody>(r->pool, view(copy(r->pool, response.body)));
    tollgate::nginx::describe_body(r, "application/json", body->size());
}

/// A body that lives as long as the pool. A short one is copied into a block of the pool.
std::string_view keep(ngx_pool_t* pool, std::string&& body) {
    return body.size() < NGX_MAX_ALLOC_FROM_POOL
               ? view(copy(pool, body))
               : std::string_view(*make_pooled<std::string>(pool, std::move(body)));
}

ngx_int_t header_filter(ngx_http_request_t* r) noexcept {
    const bool is_ready = guarded(r->connection->log, false, [&] {
        if (is_builtin_error_page(r) && is_for_petstore(r)) {
            replace_error_page(r);
        }
        return true;
    });
    return is_ready ? next_header_filter(r) : NGX_ERROR;
}

ngx_int_t body_filter(ngx_http_request_t* r, ngx_chain_t* in) noexcept {
    auto* const body =
        in != nullptr && is_builtin_error_page(r) ? find_pooled<ErrorBody>(r->pool) : nullptr;
    return body != nullptr ? body->send(r, in, next_body_filter) : next_body_filter(r, in);
}

}  // namespace

ngx_int_t send_response(ngx_http_request_t* r, Response&& response) {
    r->expect_tested = 1;
    if (const ngx_int_t rc = ngx_http_discard_request_body(r); rc != NGX_OK) {
        return rc;
    }
    // Location is not set as headers_out.location: nginx would make an absolute URI from it
    // (`absolute_redirect`), with the name of this server instead of the proxy's.
    for (const Field& field : response.fields) {
        tollgate::nginx::add_field(r, field.name, field.value);
    }
    for (const ConstantField& field : response.constant_fields) {
        tollgate::nginx::add_literal_field(r, field.name, field.value);
    }
    return tollgate::nginx::send_body(r, "application/json",
                                      keep(r->pool, std::move(response.body)),
                                      static_cast<ngx_uint_t>(response.status));
}

ngx_int_t install_error_page_filters(ngx_conf_t* /*cf*/) noexcept {
    next_header_filter = ngx_http_top_header_filter;
    ngx_http_top_header_filter = header_filter;
    next_body_filter = ngx_http_top_body_filter;
    ngx_http_top_body_filter = body_filter;
    return NGX_OK;
}

}  // namespace petstore
