#include "backend/http/request_body.hpp"

#include <string>

#include "backend/core/error.hpp"
#include "backend/http/response_output.hpp"

namespace petstore {
namespace {

/// The body as far as it has arrived. It is the module's context of the request.
struct PartialBody {
    std::size_t limit;
    BodyHandler handler;
    std::string bytes;
};

RequestError too_large(std::size_t limit) {
    return {kBodyTooLarge, "The body must not be longer than " + std::to_string(limit) + " bytes."};
}

/// Appends a buffer in a file. There is one only if another module, such as mirror, has read the
/// body before.
bool append_file(std::string& bytes, ngx_buf_t* buffer) {
    const auto size = static_cast<std::size_t>(buffer->file_last - buffer->file_pos);
    const std::size_t offset = bytes.size();
    bytes.resize(offset + size);
    auto* const target = reinterpret_cast<u_char*>(bytes.data() + offset);
    return ngx_read_file(buffer->file, target, size, buffer->file_pos) ==
           static_cast<ssize_t>(size);
}

/// Appends what nginx has read. Marks the buffers as consumed while nginx is still reading, so that
/// it fills them again. Returns NGX_OK or an HTTP status.
ngx_int_t append_buffers(ngx_http_request_t* r, PartialBody& body) {
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

/// Reads what has arrived. Returns NGX_OK if the body is complete, NGX_AGAIN if more is to come, or
/// an HTTP status.
ngx_int_t read_available(ngx_http_request_t* r, PartialBody& body) {
    while (true) {
        if (r->request_body == nullptr || r->request_body->bufs == nullptr) {
            if (!r->reading_body) {
                return NGX_OK;
            }
        } else if (const ngx_int_t rc = append_buffers(r, body); rc != NGX_OK || !r->reading_body) {
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

/// nginx calls it for the first part of the body, then as the read event handler.
void on_body(ngx_http_request_t* r) noexcept {
    auto* const body =
        static_cast<PartialBody*>(ngx_http_get_module_ctx(r, ngx_http_petstore_module));
    const auto rc = guarded<ngx_int_t>(r->connection->log, NGX_HTTP_INTERNAL_SERVER_ERROR,
                                       [&] { return read_available(r, *body); });
    if (rc == NGX_AGAIN) {
        r->read_event_handler = on_body;
        return;
    }
    r->read_event_handler = ngx_http_block_reading;
    if (rc == NGX_OK) {
        body->handler(r, body->bytes);
    } else if (rc == NGX_HTTP_REQUEST_ENTITY_TOO_LARGE) {
        const auto sent =
            guarded<ngx_int_t>(r->connection->log, NGX_HTTP_INTERNAL_SERVER_ERROR, [&] {
                const RequestError error = too_large(body->limit);
                return send_response(r, error_response(error.kind(), error.what()));
            });
        ngx_http_finalize_request(r, sent);
    } else {
        ngx_http_finalize_request(r, rc);
    }
}

}  // namespace

ngx_int_t read_request_body(ngx_http_request_t* r, std::size_t limit, BodyHandler handler) {
    if (r->headers_in.content_length_n > static_cast<off_t>(limit)) {
        throw too_large(limit);
    }
    auto* const body = make_pooled<PartialBody>(r->pool, PartialBody{limit, handler, {}});
    ngx_http_set_ctx(r, body, ngx_http_petstore_module);
    r->request_body_no_buffering = 1;
    const ngx_int_t rc = ngx_http_read_client_request_body(r, on_body);
    return rc >= NGX_HTTP_SPECIAL_RESPONSE ? rc : NGX_DONE;
}

}  // namespace petstore
