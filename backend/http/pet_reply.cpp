#include "backend/http/pet_reply.hpp"

#include <algorithm>

namespace petstore {
namespace {

/// Location goes here as well: nginx may turn its own one into an absolute URI of this server,
/// which stands behind another.
bool add_header(ngx_http_request_t* r, std::string_view name, std::string_view value) {
    auto* const header = static_cast<ngx_table_elt_t*>(ngx_list_push(&r->headers_out.headers));
    if (header == nullptr) {
        return false;
    }
    *header = {};
    header->hash = 1;
    header->key = copy(r, name);
    header->value = copy(r, value);
    return header->key.data != nullptr && header->value.data != nullptr;
}

}  // namespace

ngx_str_t copy(ngx_http_request_t* r, std::string_view text) {
    ngx_str_t copied{text.size(), static_cast<u_char*>(ngx_pnalloc(r->pool, text.size() + 1))};
    if (copied.data != nullptr) {
        std::copy(text.begin(), text.end(), copied.data);
    }
    return copied;
}

ngx_int_t send(ngx_http_request_t* r, const Answer& answer) {
    r->expect_tested = 1;
    if (const ngx_int_t rc = ngx_http_discard_request_body(r); rc != NGX_OK) {
        return rc;
    }
    r->headers_out.status = static_cast<ngx_uint_t>(answer.status);
    r->headers_out.content_length_n = static_cast<off_t>(answer.body.size());
    ngx_str_set(&r->headers_out.content_type, "application/json");
    r->headers_out.content_type_len = r->headers_out.content_type.len;
    for (const Header& header : answer.headers) {
        if (!add_header(r, header.name, header.value)) {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }
    }

    const ngx_str_t body = copy(r, answer.body);
    auto* const buffer = static_cast<ngx_buf_t*>(ngx_calloc_buf(r->pool));
    if (body.data == nullptr || buffer == nullptr) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
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
