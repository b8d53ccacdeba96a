#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tollgate::cli {

/// Where a Redis is and how to log in.
struct RedisUrl {
    std::string host;  ///< a name or an address; empty where there is a path
    std::uint16_t port = 6379;
    std::string path;      ///< of a unix socket
    std::string user;      ///< empty: Redis's default user
    std::string password;  ///< empty: no AUTH
    std::uint32_t database = 0;

    /// The place without the secrets, for messages.
    std::string address() const;
};

/// Reads `redis://[USER:PASSWORD@]HOST[:PORT][/DB]` (IPv6 addresses in brackets, percent-encoding
/// in the user and the password), `unix:PATH[?db=DB]` or `unix://[USER:PASSWORD@]PATH[?db=DB]`.
/// Throws Failure; its text bears no secrets.
RedisUrl parse_redis_url(std::string_view text);

}  // namespace tollgate::cli
