#pragma once

#include <string>
#include <string_view>

namespace tollgate::cli {

/// Where to ask over HTTP.
struct HttpUrl {
    std::string url;      ///< as libcurl takes it; may hold a user and a password
    std::string socket;   ///< path of a unix socket; empty: the URL's host
    std::string address;  ///< the place without the secrets, for messages
};

/// Reads `http://…`, `https://…` (with `USER:PASSWORD@` perhaps), or `unix:PATH:URI`, as nginx
/// writes it, with or without `http://` before it. Throws Failure.
HttpUrl parse_http_url(std::string_view text);

/// The body of what a GET is answered with, JSON preferred. Throws Failure for any status but 200.
std::string http_get(const HttpUrl& url);

}  // namespace tollgate::cli
