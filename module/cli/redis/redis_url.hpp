#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "module/redis/topology/server_address.hpp"

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

/// A user and its password.
struct Login {
    std::string user;           ///< empty: the default user of Redis
    std::string password;       ///< empty: AUTH is not sent
    std::string password_file;  ///< its first line is the password; empty: `password` is

    /// Whether there is a user whose password read_passwords() asks for.
    bool lacks_password() const {
        return !user.empty() && password.empty() && password_file.empty();
    }
};

/// The addresses of a Redis deployment and the credentials for it.
struct RedisUrl {
    enum class Kind {
        kServer,    ///< one server
        kSentinel,  ///< a master that Sentinels report
        kCluster    ///< Redis Cluster
    };

    Kind kind = Kind::kServer;
    /// The server, the Sentinels, or some servers of the cluster. Empty if `path` is set.
    std::vector<redis::ServerAddress> servers;
    std::string path;    ///< of a unix socket
    std::string master;  ///< with kSentinel, the name of the master
    Login login;         ///< of the servers with data
    Login sentinel_login;
    std::uint32_t database = 0;
    TlsOptions tls;  ///< of all servers, Sentinels too
};

/// Parses one of
///   redis://[LOGIN@]HOST[:PORT][/DB]                     one server; the port is 6379
///   redis+sentinel://[LOGIN@]HOST[:PORT],…/MASTER[/DB]   Sentinels; the port is 26379
///   redis+cluster://[LOGIN@]HOST[:PORT],…                servers of a cluster; the port is 6379
///   rediss://…, rediss+sentinel://…, rediss+cluster://…  the same over TLS
///   unix:PATH, unix://[LOGIN@]PATH
/// and parameters `?NAME=VALUE&…`: `password_file`; `db` with unix; `tls_ca`, `tls_cert`,
/// `tls_key`, `tls_server_name` and `tls_verify` (`on` or `off`) with TLS; `sentinel_username` and
/// `sentinel_password_file` with Sentinels. LOGIN is USER:PASSWORD, :PASSWORD or USER. It and the
/// values are percent-encoded. An IPv6 address is in brackets. Reads no file. Throws Failure with
/// ExitStatus::kUsage. The message contains no part of the URL, which may contain a password.
RedisUrl parse_redis_url(std::string_view text);

/// Sets the passwords of the URL: from its password files; from a prompt for a user without a
/// password, and with `ask` for the servers with data. The prompt is on the terminal, without
/// echo. Throws Failure with ExitStatus::kUsage if a file can't be read, if standard input is not a
/// terminal, or if the URL already has the password that `ask` is for.
void read_passwords(RedisUrl& url, bool ask);

}  // namespace tollgate::cli
