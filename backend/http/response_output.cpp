#include "backend/http/response_output.hpp"

namespace petstore {
namespace {

/// Adds a field. It doesn't use headers_out.location for Location: nginx would make an absolute URI
/// from it (`absolute_redirect`), with this server's name in place of the proxy's.
void add_field(ngx_http_request_t* r, const Field& field) {
    auto* const added = static_cast<ngx_table_elt_t*>(ngx_list_push(&r->headers_out.headers));
    if (added == nullptr) {
        throw std::bad_alloc();
    }
    *added = {};
    added->key = borrow(field.name);
    added->value = copy(r->pool, field.value);
    added->hash = 1;
}

}  // namespace

ngx_int_t send_response(ngx_http_request_t* r, const Response& response) {
    r->expect_tested = 1;
    if (const ngx_int_t rc = ngx_http_discard_request_body(r); rc != NGX_OK) {
        return rc;
    }
    r->headers_out.status = static_cast<ngx_uint_t>(response.status);
    r->headers_out.content_length_n = static_cast<off_t>(response.body.size());
    ngx_str_set(&r->headers_out.content_type, "application/json");
    r->headers_out.content_type_len = r->headers_out.content_type.len;
    for (const Field& field : response.fields) {
        add_field(r, field);
    }

    const ngx_str_t body = copy(r->pool, response.body);
    auto* const buffer = static_cast<ngx_buf_t*>(ngx_calloc_buf(r->pool));
    if (buffer == nullptr) {
        throw std::bad_alloc();
    }
    const ngx_int_t rc = ngx_http_send_header(r);
    if (rc == NGX_ERROR || rc > NGX_OK || r->header_only) {
        return rc;
    }
    buffer->pos = body.data;
    buffer->last = body.data + body.len;
    buffer->memory = 1;
    buffer->last_buf = r == r->main ? 1 : 0;
    buffer->last_in_chain = 1;
    ngx_chain_t chain{buffer, nullptr};
    return ngx_http_output_filter(r, &chain);
}

}  // namespace petstore
