#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "module/nginx/nginx.hpp"

/// Bodies of requests in memory, for both modules. nginx writes no temporary file, which would
/// block the event loop.
namespace tollgate::nginx {

/// The bytes of a buffer in memory.
inline std::string_view bytes_of(const ngx_buf_t& buffer) {
    return {reinterpret_cast<const char*>(buffer.pos),
            static_cast<std::size_t>(buffer.last - buffer.pos)};
}

/// Calls `use` with the bytes of a buffer of a body, in pieces if it is in a file. Returns false if
/// the file cannot be read.
template <typename Use>
bool for_each_piece(const ngx_buf_t& buffer, Use use) {
    if (ngx_buf_in_memory(&buffer)) {
        use(bytes_of(buffer));
        return true;
    }
    constexpr std::size_t kPiece = 16'384;
    std::array<u_char, kPiece> piece{};
    for (off_t at = buffer.file_pos; buffer.in_file && at < buffer.file_last;) {
        const auto size = std::min<off_t>(kPiece, buffer.file_last - at);
        const ssize_t got =
            ngx_read_file(buffer.file, piece.data(), static_cast<std::size_t>(size), at);
        if (got <= 0) {
            return false;
        }
        use(std::string_view(reinterpret_cast<const char*>(piece.data()),
                             static_cast<std::size_t>(got)));
        at += got;
    }
    return true;
}

/// Handles a body and finalizes the request, now or later. `status` is NGX_OK if the body is
/// complete; NGX_HTTP_REQUEST_ENTITY_TOO_LARGE if it is above the limit; or another status. `body`
/// is valid during the call.
using BodyHandler = void (*)(ngx_http_request_t* r, ngx_int_t status,
                             std::string_view body) noexcept;

/// The body of a request as far as it has arrived. It is in the request's pool.
class PartialBody {
  public:
    PartialBody(std::size_t limit, BodyHandler handler) : limit_(limit), handler_(handler) {}

    /// nginx calls it for the first part of the body, then as the read event handler.
    static void on_read(ngx_http_request_t* r) noexcept {
        auto* const body = find_pooled<PartialBody>(r->pool);
        const auto status =
            guarded<ngx_int_t>("tollgate", r->connection->log, NGX_HTTP_INTERNAL_SERVER_ERROR,
                               [&] { return body->read_available(r); });
        if (status == NGX_AGAIN) {
            r->read_event_handler = on_read;
            return;
        }
        r->read_event_handler = ngx_http_block_reading;
        body->handler_(r, status, body->bytes_);
    }

  private:
    /// Reads what has arrived. Returns NGX_OK if the body is complete, NGX_AGAIN if more is to
    /// come, or an HTTP status.
    ngx_int_t read_available(ngx_http_request_t* r) {
        while (true) {
            if (r->request_body == nullptr || r->request_body->bufs == nullptr) {
                if (!r->reading_body) {
                    return NGX_OK;
                }
            } else if (const ngx_int_t rc = append_buffers(r); rc != NGX_OK || !r->reading_body) {
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

    /// Appends what nginx has read. Marks the buffers as consumed while nginx is still reading, so
    /// that it fills them again. Returns NGX_OK or an HTTP status.
    ngx_int_t append_buffers(ngx_http_request_t* r) {
        for (ngx_chain_t* link = r->request_body->bufs; link != nullptr; link = link->next) {
            ngx_buf_t* const buffer = link->buf;
            if (bytes_.size() + static_cast<std::size_t>(ngx_buf_size(buffer)) > limit_) {
                return NGX_HTTP_REQUEST_ENTITY_TOO_LARGE;
            }
            // One is in a file only if another module, such as mirror, has read the body before.
            if (!for_each_piece(*buffer, [&](std::string_view piece) { bytes_ += piece; })) {
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

    std::size_t limit_;
    BodyHandler handler_;
    std::string bytes_;
};

/// Reads the body of a request, then calls `handler`. Returns what a content handler returns:
/// NGX_HTTP_REQUEST_ENTITY_TOO_LARGE if Content-Length is above `limit` bytes. Throws
/// std::bad_alloc.
inline ngx_int_t read_request_body(ngx_http_request_t* r, std::size_t limit, BodyHandler handler) {
    if (r->headers_in.content_length_n > static_cast<off_t>(limit)) {
        return NGX_HTTP_REQUEST_ENTITY_TOO_LARGE;
    }
    make_pooled<PartialBody>(r->pool, limit, handler);
    r->request_body_no_buffering = 1;
    const ngx_int_t rc = ngx_http_read_client_request_body(r, PartialBody::on_read);
    return rc >= NGX_HTTP_SPECIAL_RESPONSE ? rc : NGX_DONE;
}

}  // namespace tollgate::nginx
