#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "module/nginx/nginx.hpp"

/// Responses whose body is one text in memory, for both modules.
namespace tollgate::nginx {

/// Adds a header field; both texts are literals, or live as long as the request. Throws
/// std::bad_alloc.
inline ngx_table_elt_t* add_literal_field(ngx_http_request_t* r, std::string_view name,
                                          std::string_view value) {
    auto* const field = static_cast<ngx_table_elt_t*>(ngx_list_push(&r->headers_out.headers));
    if (field == nullptr) {
        throw std::bad_alloc();
    }
    *field = {};
    field->key = borrow(name);
    field->value = borrow(value);
    field->hash = 1;
    return field;
}

/// Adds a header field with a copy of the value. The name is a literal, or lives as long as the
/// request. Throws std::bad_alloc.
inline ngx_table_elt_t* add_field(ngx_http_request_t* r, std::string_view name,
                                  std::string_view value) {
    return add_literal_field(r, name, view(copy(r->pool, value)));
}

/// A number as text.
class Digits {
  public:
    constexpr Digits() = default;  ///< of 0
    explicit Digits(std::int64_t number) {
        const char* end = std::to_chars(text_.data(), text_.data() + text_.size(), number).ptr;
        size_ = static_cast<std::uint32_t>(end - text_.data());
    }
    std::string_view view() const { return {text_.data(), size_}; }

  private:
    std::array<char, NGX_INT64_LEN> text_{'0'};
    std::uint32_t size_ = 1;
};

/// Keeps the digits of a number for the next call, which often has the same number.
class KeptDigits {
  public:
    const Digits& of(std::int64_t number) {
        if (number != number_) {
            digits_ = Digits(number);
            number_ = number;
        }
        return digits_;
    }

  private:
    std::int64_t number_ = 0;
    Digits digits_;
};

/// Adds a header field with a number as its value. The name is a literal, or lives as long as the
/// request. Throws std::bad_alloc.
inline void add_field(ngx_http_request_t* r, std::string_view name, std::int64_t value) {
    add_field(r, name, Digits(value).view());
}

/// Sets Content-Type and Content-Length; `media_type` must be a literal.
inline void describe_body(ngx_http_request_t* r, std::string_view media_type, std::size_t length) {
    r->headers_out.content_type = borrow(media_type);
    // Filters compare the media type without its parameters.
    r->headers_out.content_type_len = std::min(media_type.size(), media_type.find(';'));
    r->headers_out.content_type_lowcase = nullptr;
    r->headers_out.content_length_n = static_cast<off_t>(length);
}

/// A buffer with the whole body, which must live as long as the request; nullptr if memory is
/// short.
inline ngx_buf_t* make_body_buffer(ngx_http_request_t* r, std::string_view body) noexcept {
    auto* const buffer = static_cast<ngx_buf_t*>(ngx_calloc_buf(r->pool));
    if (buffer != nullptr) {
        const ngx_str_t bytes = borrow(body);
        buffer->pos = bytes.data;
        buffer->last = bytes.data + bytes.len;
        buffer->memory = 1;
        buffer->last_buf = r == r->main ? 1 : 0;
        buffer->last_in_chain = 1;
    }
    return buffer;
}

/// Sends the header, and the body unless the request is HEAD. The body must live as long as the
/// request. Returns what a content handler returns. Throws std::bad_alloc before it sends anything.
inline ngx_int_t send_header_and_body(ngx_http_request_t* r, std::string_view body) {
    ngx_buf_t* const buffer = make_body_buffer(r, body);
    if (buffer == nullptr) {
        throw std::bad_alloc();
    }
    const ngx_int_t rc = ngx_http_send_header(r);
    if (rc == NGX_ERROR || rc > NGX_OK || r->header_only != 0) {
        return rc;
    }
    ngx_chain_t chain{buffer, nullptr};
    return ngx_http_output_filter(r, &chain);
}

/// Sends a response. `body` must outlive the request; `media_type` must be a literal. Returns the
/// value for a content handler to return.
inline ngx_int_t send_body(ngx_http_request_t* r, std::string_view media_type,
                           std::string_view body, ngx_uint_t status = NGX_HTTP_OK) {
    r->headers_out.status = status;
    describe_body(r, media_type, body.size());
    return send_header_and_body(r, body);
}

/// Sends a response with `Cache-Control: no-store`, and keeps the text alive. `media_type` must be
/// a literal. Returns the value for a content handler to return. Throws std::bad_alloc.
inline ngx_int_t send_text(ngx_http_request_t* r, std::string_view media_type, std::string text,
                           ngx_uint_t status = NGX_HTTP_OK) {
    const auto& body = *make_pooled<std::string>(r->pool, std::move(text));
    add_field(r, "Cache-Control", "no-store");
    return send_body(r, media_type, body, status);
}

/// Allows only GET and HEAD, for a content handler. Returns NGX_OK for these two, otherwise the
/// status to return. Discards the request's body.
inline ngx_int_t allow_reading_only(ngx_http_request_t* r) {
    if ((r->method & (NGX_HTTP_GET | NGX_HTTP_HEAD)) == 0) {
        add_field(r, "Allow", "GET, HEAD");
        return NGX_HTTP_NOT_ALLOWED;
    }
    return ngx_http_discard_request_body(r);
}

/// A body that a filter sends instead of the response's own. The filter's header filter calls
/// describe_body(), its body filter send().
class ReplacementBody {
  public:
    /// The text must live as long as the request.
    explicit ReplacementBody(std::string_view text) : text_(text) {}

    std::size_t size() const { return text_.size(); }

    /// Discards the buffers of `in`. The first call passes the text to `next`.
    ngx_int_t send(ngx_http_request_t* r, ngx_chain_t* in,
                   ngx_http_output_body_filter_pt next) noexcept {
        for (ngx_chain_t* link = in; link != nullptr; link = link->next) {
            link->buf->pos = link->buf->last;
        }
        if (is_sent_) {
            return NGX_OK;
        }
        is_sent_ = true;
        ngx_buf_t* const buffer = make_body_buffer(r, text_);
        if (buffer == nullptr) {
            return NGX_ERROR;
        }
        ngx_chain_t out{buffer, nullptr};
        return next(r, &out);
    }

  private:
    std::string_view text_;
    bool is_sent_ = false;
};

}  // namespace tollgate::nginx
