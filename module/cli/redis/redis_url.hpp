#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tollgate::cli {

/// The address of a Redis server and the credentials for it.
struct RedisUrl {
    std::string host;  ///< a name or an address; empty if `path` is set
    std::uint16_t port = 6379;
    std::string path;      ///< of a unix socket; empty: `host` and `port` are used
    std::string user;      ///< empty: the default user of Redis
    std::string password;  ///< empty: AUTH is not sent
    std::uint32_t database = 0;

    /// The address without user and password, for messages.
    std::string address() const;
};

/// Parses `redis://[USER:PASSWORD@]HOST[:PORT][/DB]` (an IPv6 address in brackets, user and
/// password percent-encoded), `unix:PATH[?db=DB]` or `unix://[USER:PASSWORD@]PATH[?db=DB]`. Throws
/// Failure with ExitStatus::kUsage. The message contains no part of the URL.
RedisUrl parse_redis_url(std::string_view text);

}  // namespace tollgate::cli
