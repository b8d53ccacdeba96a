#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tollgate::cli {

/// How a Redis server is reached over TLS.
struct TlsOptions {
    bool on = false;
    bool verify = true;       ///< the certificate of the server
    std::string ca;           ///< file of CA certificates; empty: those of the system
    std::string certificate;  ///< file; empty: no client certificate
    std::string key;          ///< file
    std::string server_name;  ///< that the certificate must have; empty: the host
};

/// The address of a Redis server and the credentials for it.
struct RedisUrl {
    std::string host;  ///< a name or an address; empty if `path` is set
    std::uint16_t port = 6379;
    std::string path;           ///< of a unix socket; empty: `host` and `port` are used
    std::string user;           ///< empty: the default user of Redis
    std::string password;       ///< empty: AUTH is not sent
    std::string password_file;  ///< its first line is the password; empty: `password` is
    std::uint32_t database = 0;
    TlsOptions tls;

    /// The address without user and password, for messages.
    std::string address() const;
};

/// Parses `redis://[USER:PASSWORD@]HOST[:PORT][/DB][?PARAMETERS]` (an IPv6 address in brackets,
/// user and password percent-encoded), the same with `rediss://`, `unix:PATH[?PARAMETERS]` or
/// `unix://[USER:PASSWORD@]PATH[?PARAMETERS]`. PARAMETERS are NAME=VALUE, separated by `&`, values
/// percent-encoded: `password_file`; `db` after `unix:`; `tls_ca`, `tls_cert`, `tls_key`,
/// `tls_server_name` and `tls_verify` (`on` or `off`) after `rediss:`. With `password_file`, USER@
/// is sufficient. Reads no file. Throws Failure with ExitStatus::kUsage. The message contains no
/// part of the URL.
RedisUrl parse_redis_url(std::string_view text);

}  // namespace tollgate::cli
