#include "module/http/config/sentinel_directives.hpp"

#include <algorithm>
#include <string>

#include "module/http/config/password_file.hpp"
#include "module/http/config/tls_directives.hpp"
#include "module/text/name_hash.hpp"
#include "module/text/parse_error.hpp"

namespace tollgate::http {

namespace {

constexpr in_port_t kSentinelPort = 26379;

/// Reads the host and the addresses of a Sentinel. Names are resolved once, when the configuration
/// is read. Each address is a Sentinel: a name may stand for all of them.
void read_sentinel(ngx_conf_t* cf, SentinelDirectives& sentinel, std::string_view text) {
    ngx_url_t url{};
    url.url = copy(cf->pool, text);
    url.default_port = kSentinelPort;
    if (ngx_parse_url(cf->pool, &url) != NGX_OK || url.naddrs == 0) {
        const char* reason = url.err != nullptr ? url.err : "no address";
        throw ParseError(std::string(reason) + " in sentinel " + quoted(text));
    }
    if (url.family == AF_UNIX) {
        throw ParseError("a unix socket in sentinel " + quoted(text) +
                         ": Sentinel has TCP ports only");
    }
    if (sentinel.host.empty()) {
        sentinel.host = view(url.host);
    }
    auto& sentinels = sentinel.group->sentinels;
    for (const ngx_addr_t& found : std::span(url.addrs, url.naddrs)) {
        redis::SocketAddress address(found.sockaddr, found.socklen, std::string(view(found.name)));
        if (std::ranges::find(sentinels, address) == sentinels.end()) {
            sentinels.push_back(std::move(address));
        }
    }
}

void read_group(ngx_conf_t* cf, SentinelDirectives& sentinel,
                std::span<const std::string_view> values) {
    if (values.size() < 2) {
        throw ParseError("\"sentinel\" needs the name of the master and an address");
    }
    if (values[0].empty()) {
        throw ParseError("empty name of the master in \"sentinel\" directive");
    }
    sentinel.group = std::make_unique<redis::SentinelGroup>();
    sentinel.group->master_name = values[0];
    for (const std::string_view text : values.subspan(1)) {
        read_sentinel(cf, sentinel, text);
    }
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

bool set_sentinel_directive(ngx_conf_t* cf, SentinelDirectives& sentinel,
                            std::span<const std::string_view> words) {
    const auto name = words[0];
    if (name == "sentinel") {
        read_group(cf, sentinel, words.subspan(1));
        return true;
    }
    if (!name.starts_with("sentinel_")) {
        return false;
    }
    if (words.size() != 2) {
        throw ParseError("invalid number of arguments in " + quoted(name) + " directive");
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
            throw ParseError(quoted(sentinel.first) + " without \"sentinel\"");
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
    for (const redis::SocketAddress& address : group.sentinels) {
        names.append(" ").append(address.name());
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
