#include "backend/http/pet_body.hpp"

#include <string>

#include "backend/core/refusal.hpp"
#include "backend/http/pet_reply.hpp"

namespace petstore {
namespace {

/// What has arrived so far; the module's context of the request.
struct PartialBody {
    std::size_t limit;
    BodyHandler handler;
    std::string bytes;
};

Refusal too_large(std::size_t limit) {
    return {kBodyTooLarge, "The body must not be longer than " + std::to_string(limit) + " bytes."};
}

/// Another module, such as mirror, may have read the body before, and into a file.
bool append_file(std::string& bytes, ngx_buf_t* buffer) {
    const auto size = static_cast<std::size_t>(buffer->file_last - buffer->file_pos);
    const std::size_t offset = bytes.size();
    bytes.resize(offset + size);
    auto* const target = reinterpret_cast<u_char*>(bytes.data() + offset);
    return ngx_read_file(buffer->file, target, size, buffer->file_pos) ==
           static_cast<ssize_t>(size);
}

/// Takes what nginx has read. While it is still reading, its buffers are given back to be filled
/// again.
ngx_int_t take_buffers(ngx_http_request_t* r, PartialBody& body) {
    for (ngx_chain_t* link = r->request_body->bufs; link != nullptr; link = link->next) {
        ngx_buf_t* const buffer = link->buf;
        if (body.bytes.size() + static_cast<std::size_t>(ngx_buf_size(buffer)) > body.limit) {
            return NGX_HTTP_REQUEST_ENTITY_TOO_LARGE;
        }
        if (ngx_buf_in_memory(buffer)) {
            body.bytes.append(buffer->pos, buffer->last);
        } else if (buffer->in_file && !append_file(body.bytes, buffer)) {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }
        if (r->reading_body) {
            buffer->pos = buffer->last;
        }
    }
    if (r->reading_body) {
        r->request_body->bufs = nullptr;
    }
    return NGX_OK;
}

/// Returns NGX_OK when the body is complete, NGX_AGAIN while it isn't, or an HTTP status.
ngx_int_t read_on(ngx_http_request_t* r, PartialBody& body) {
    while (true) {
        if (r->request_body == nullptr || r->request_body->bufs == nullptr) {
            if (!r->reading_body) {
                return NGX_OK;
            }
        } else if (const ngx_int_t rc = take_buffers(r, body); rc != NGX_OK || !r->reading_body) {
            return rc;
        }
        const ngx_int_t rc = ngx_http_read_unbuffered_request_body(r);
        if (rc >= NGX_HTTP_SPECIAL_RESPONSE) {
            return rc;
        }
        if (rc == NGX_AGAIN && r->request_body->bufs == nullptr) {
            return NGX_AGAIN;
        }
    }
}

/// Called for every piece that arrives.
void proceed(ngx_http_request_t* r) noexcept {
    auto* const body =
        static_cast<PartialBody*>(ngx_http_get_module_ctx(r, ngx_http_petstore_module));
    const auto rc =
        guarded<ngx_int_t>(NGX_HTTP_INTERNAL_SERVER_ERROR, [&] { return read_on(r, *body); });
    if (rc == NGX_AGAIN) {
        r->read_event_handler = proceed;
        return;
    }
    r->read_event_handler = ngx_http_block_reading;
    if (rc == NGX_OK) {
        body->handler(r, body->bytes);
    } else if (rc == NGX_HTTP_REQUEST_ENTITY_TOO_LARGE) {
        const auto sent = guarded<ngx_int_t>(NGX_HTTP_INTERNAL_SERVER_ERROR, [&] {
            const Refusal refusal = too_large(body->limit);
            return send(r, refused(refusal.kind(), refusal.what()));
        });
        ngx_http_finalize_request(r, sent);
    } else {
        ngx_http_finalize_request(r, rc);
    }
}

}  // namespace

ngx_int_t read_body(ngx_http_request_t* r, std::size_t limit, BodyHandler handler) {
    if (r->headers_in.content_length_n > static_cast<off_t>(limit)) {
        throw too_large(limit);
    }
    auto* const body = make_in_pool<PartialBody>(r->pool, PartialBody{limit, handler, {}});
    if (body == nullptr) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
    ngx_http_set_ctx(r, body, ngx_http_petstore_module);
    r->request_body_no_buffering = 1;
    const ngx_int_t rc = ngx_http_read_client_request_body(r, proceed);
    return rc >= NGX_HTTP_SPECIAL_RESPONSE ? rc : NGX_DONE;
}

}  // namespace petstore
