#pragma once

#include <string>
#include <string_view>

namespace tollgate::cli {

/// The URL of an HTTP resource.
struct HttpUrl {
    std::string url;      ///< in the form that libcurl reads; may contain a user and a password
    std::string socket;   ///< path of a unix socket; empty: connect to the host of `url`
    std::string address;  ///< the URL without user, password and query, for messages
};

/// Parses `http://…`, `https://…` (both may contain `USER:PASSWORD@`), or `unix:SOCKET:/PATH`, also
/// with `http://` before it, as in nginx's `proxy_pass`. Throws Failure with ExitStatus::kUsage.
HttpUrl parse_http_url(std::string_view text);

/// Sends a GET request that accepts JSON, and returns the body of the response. Throws Failure with
/// ExitStatus::kRedis if the request fails, takes more than 15 seconds, or returns another status
/// than 200 or a body of more than 64 MiB.
std::string http_get(const HttpUrl& url);

}  // namespace tollgate::cli
