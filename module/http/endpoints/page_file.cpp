#include "module/http/endpoints/page_file.hpp"

#include <span>
#include <utility>

#include "module/key/digest.hpp"

namespace tollgate::http {

PageFile make_page_file(std::string_view media_type, std::string text) {
    // The first 12 bytes of the SHA-256 tell versions apart.
    constexpr std::size_t kBytes = 12;
    const Sha256 digest = sha256(text);
    std::string etag = "\"" + hex(std::span(digest).first<kBytes>()) + "\"";
    return {.media_type = media_type, .text = std::move(text), .etag = std::move(etag)};
}

ngx_int_t send_page_file(ngx_http_request_t* r, const PageFile& file, std::string_view policy) {
    // With `no-cache`, a browser asks each time whether the file has changed. nginx's not-modified
    // filter answers 304.
    r->headers_out.etag = add_field(r, "ETag", file.etag);
    add_field(r, "Cache-Control", "no-cache");
    add_field(r, "Content-Security-Policy", policy);
    add_field(r, "X-Content-Type-Options", "nosniff");
    add_field(r, "Referrer-Policy", "no-referrer");
    return send_body(r, file.media_type, file.text);
}

}  // namespace tollgate::http
