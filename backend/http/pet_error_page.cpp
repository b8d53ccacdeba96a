#include "backend/http/pet_error_page.hpp"

#include "backend/core/pet_answer.hpp"
#include "backend/http/pet_location.hpp"
#include "backend/http/pet_reply.hpp"

namespace petstore {
namespace {

ngx_http_output_header_filter_pt next_header_filter;
ngx_http_output_body_filter_pt next_body_filter;

/// The Error body that takes the place of nginx's page. It is found by its cleanup: nginx clears
/// the contexts of modules, and pet_body.cpp has its own there.
struct ErrorBody {
    ngx_str_t text;
    bool sent;
};

void no_cleanup(void* /*data*/) noexcept {}

ErrorBody* error_body_of(ngx_http_request_t* r) {
    for (ngx_pool_cleanup_t* cleanup = r->pool->cleanup; cleanup != nullptr;
         cleanup = cleanup->next) {
        if (cleanup->handler == no_cleanup) {
            return static_cast<ErrorBody*>(cleanup->data);
        }
    }
    return nullptr;
}

bool serves_pets(ngx_http_request_t* r) {
    const auto* const location =
        static_cast<PetLocation*>(ngx_http_get_module_loc_conf(r, ngx_http_petstore_module));
    if (location->backend != nullptr) {
        return true;
    }
    const auto* const cscf = static_cast<ngx_http_core_srv_conf_t*>(
        ngx_http_get_module_srv_conf(r, ngx_http_core_module));
    const auto* const server =
        static_cast<PetServer*>(ngx_http_get_module_srv_conf(r, ngx_http_petstore_module));
    return server->serves_pets && r->loc_conf == cscf->ctx->loc_conf;
}

/// Only nginx itself sets err_status, and what it sends then is its own page unless `error_page`
/// has redirected the request.
bool is_page_of_nginx(ngx_http_request_t* r) {
    return r == r->main && r->internal == 0 && r->err_status >= NGX_HTTP_BAD_REQUEST &&
           r->headers_out.status == r->err_status;
}

bool replace(ngx_http_request_t* r) {
    ngx_pool_cleanup_t* const cleanup = ngx_pool_cleanup_add(r->pool, sizeof(ErrorBody));
    const ngx_str_t text = copy(r, error_of_nginx(static_cast<int>(r->headers_out.status)).body);
    if (cleanup == nullptr || text.data == nullptr) {
        return false;
    }
    *static_cast<ErrorBody*>(cleanup->data) = {text, false};
    cleanup->handler = no_cleanup;
    ngx_str_set(&r->headers_out.content_type, "application/json");
    r->headers_out.content_type_len = r->headers_out.content_type.len;
    r->headers_out.content_type_lowcase = nullptr;
    r->headers_out.content_length_n = static_cast<off_t>(text.len);
    return true;
}

ngx_int_t header_filter(ngx_http_request_t* r) noexcept {
    if (is_page_of_nginx(r) && serves_pets(r) && !guarded(false, [&] { return replace(r); })) {
        return NGX_ERROR;
    }
    return next_header_filter(r);
}

ngx_int_t body_filter(ngx_http_request_t* r, ngx_chain_t* in) noexcept {
    ErrorBody* const body = in != nullptr && is_page_of_nginx(r) ? error_body_of(r) : nullptr;
    if (body == nullptr) {
        return next_body_filter(r, in);
    }
    for (ngx_chain_t* link = in; link != nullptr; link = link->next) {
        link->buf->pos = link->buf->last;
    }
    if (body->sent) {
        return NGX_OK;
    }
    body->sent = true;
    auto* const buffer = static_cast<ngx_buf_t*>(ngx_calloc_buf(r->pool));
    if (buffer == nullptr) {
        return NGX_ERROR;
    }
    buffer->pos = body->text.data;
    buffer->last = body->text.data + body->text.len;
    buffer->memory = 1;
    buffer->last_buf = 1;
    buffer->last_in_chain = 1;
    ngx_chain_t out{buffer, nullptr};
    return next_body_filter(r, &out);
}

}  // namespace

ngx_int_t install_error_page_filters(ngx_conf_t* /*cf*/) noexcept {
    next_header_filter = ngx_http_top_header_filter;
    ngx_http_top_header_filter = header_filter;
    next_body_filter = ngx_http_top_body_filter;
    ngx_http_top_body_filter = body_filter;
    return NGX_OK;
}

}  // namespace petstore
