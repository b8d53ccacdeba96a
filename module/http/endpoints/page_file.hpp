#pragma once

#include <string>
#include <string_view>

#include "module/http/nginx.hpp"

namespace tollgate::http {

/// A file of a web page, as the module serves it.
struct PageFile {
    std::string_view media_type;  ///< a literal
    std::string text;
    std::string etag;  ///< with its quotes
};

/// A file and its ETag.
PageFile make_page_file(std::string_view media_type, std::string text);

/// Serves a file with the policy of its page: for a content handler, after allow_reading_only().
/// `file` must outlive the request.
ngx_int_t send_page_file(ngx_http_request_t* r, const PageFile& file, std::string_view policy);

}  // namespace tollgate::http
