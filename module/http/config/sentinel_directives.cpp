#include "module/http/config/sentinel_directives.hpp"

#include <string>

#include "module/http/config/password_file.hpp"
#include "module/http/config/redis_servers.hpp"
#include "module/http/config/tls_directives.hpp"
#include "module/text/name_hash.hpp"
#include "module/text/parse_error.hpp"

namespace tollgate::http {

namespace {

void read_group(ngx_conf_t* cf, RedisConf& conf, std::span<const std::string_view> values) {
    if (values.size() < 2) {
        throw ParseError("\"sentinel\" needs the name of the master and an address");
    }
    if (values[0].empty()) {
        throw ParseError("empty name of the master in \"sentinel\" directive");
    }
    conf.sentinel.group = std::make_unique<redis::SentinelGroup>();
    conf.sentinel.group->master_name = values[0];
    read_sentinels(cf, conf, values.subspan(1));
}

/// Without `tls_server_name`, a server must have a certificate for the host of `server`; the master
/// of a Sentinel group has no such host.
void check_server_name(const TlsDirectives& tls) {
    if (tls.settings.verify && tls.settings.server_name.empty()) {
        throw ParseError(
            "TLS with \"sentinel\" needs \"tls_server_name\", which the certificates of all "
            "servers must have");
    }
}

}  // namespace

bool set_sentinel_directive(ngx_conf_t* cf, RedisConf& conf,
                            std::span<const std::string_view> words) {
    SentinelDirectives& sentinel = conf.sentinel;
    const auto name = words[0];
    if (name == "sentinel") {
        read_group(cf, conf, words.subspan(1));
        return true;
    }
    if (!name.starts_with("sentinel_")) {
        return false;
    }
    if (words.size() != 2) {
        throw ParseError("invalid number of arguments in " + in_quotes(name) + " directive");
    }
    const auto value = words[1];
    if (name == "sentinel_tls") {
        sentinel.tls = parse_flag(name, value);
    } else if (name == "sentinel_username") {
        sentinel.username = value;
    } else if (name == "sentinel_password") {
        sentinel.password = value;
    } else if (name == "sentinel_password_file") {
        sentinel.password = read_password_file(cf, name, value);
    } else {
        return false;
    }
    if (sentinel.first.empty()) {
        sentinel.first = name;
    }
    return true;
}

void finish_sentinel(ngx_conf_t* cf, RedisConf& conf) {
    SentinelDirectives& sentinel = conf.sentinel;
    if (sentinel.group == nullptr) {
        if (!sentinel.first.empty()) {
            throw ParseError(in_quotes(sentinel.first) + " without \"sentinel\"");
        }
        return;
    }
    if (sentinel.password.empty() && !sentinel.username.empty()) {
        throw ParseError("\"sentinel_username\" without \"sentinel_password\"");
    }
    redis::SentinelGroup& group = *sentinel.group;
    group.endpoint.name = conf.endpoint.name;
    group.endpoint.username = sentinel.username;
    group.endpoint.password = sentinel.password;
    std::string names = group.master_name;
    for (const redis::Server& server : group.endpoint.servers) {
        for (const redis::SocketAddress& address : server.addresses) {
            names.append(" ").append(address.name());
        }
        if (server.addresses.empty()) {
            names.append(" ").append(to_text(server.name));
        }
    }
    group.hash = name_hash(names);
    TlsDirectives& tls = conf.tls;
    tls.host = sentinel.host;
    const bool has_sentinel_tls = sentinel.tls.value_or(tls.on);
    if (tls.on || has_sentinel_tls) {
        check_server_name(tls);
    }
    if (has_sentinel_tls) {
        tls.is_for_sentinels_only = !tls.on;
        TlsDirectives of_sentinels = tls;
        of_sentinels.on = true;
        group.endpoint.tls = make_tls_context(cf, of_sentinels);
    }
}

}  // namespace tollgate::http
