#include "module/cli/redis/redis_url.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "module/cli/redis/url_parameters.hpp"

namespace tollgate::cli {

namespace {

using Kind = RedisUrl::Kind;

constexpr std::string_view kRedisPort = "6379";
constexpr std::string_view kSentinelPort = "26379";

bool take_prefix(std::string_view& text, std::string_view prefix) {
    if (!text.starts_with(prefix)) {
        return false;
    }
    text.remove_prefix(prefix.size());
    return true;
}

/// Removes the text up to the first `separator` and the separator. Nothing if there is none: the
/// text is unchanged.
std::optional<std::string_view> take_until(std::string_view& text, char separator) {
    const auto end = text.find(separator);
    if (end == text.npos) {
        return std::nullopt;
    }
    const auto taken = text.substr(0, end);
    text.remove_prefix(end + 1);
    return taken;
}

/// Removes `USER:PASSWORD@` from the front of `authority`. The parameters of `url` are set.
void take_login(std::string_view& authority, RedisUrl& url) {
    const auto at = authority.rfind('@');
    if (at == std::string_view::npos) {
        return;
    }
    const auto login = authority.substr(0, at);
    const auto colon = login.find(':');
    const bool has_password = colon != std::string_view::npos && colon + 1 < login.size();
    if (has_password && !url.login.password_file.empty()) {
        refuse_url("it has both a password and password_file");
    }
    url.login.user = percent_decoded(login.substr(0, colon));
    if (has_password) {
        url.login.password = percent_decoded(login.substr(colon + 1));
    } else if (url.login.user.empty() && url.login.password_file.empty()) {
        refuse_url("neither a user nor a password is before the @");
    }
    authority.remove_prefix(at + 1);
}

redis::ServerAddress parse_server(std::string_view text, std::string_view port) {
    std::string_view host;
    if (take_prefix(text, "[")) {
        const auto in_brackets = take_until(text, ']');
        if (!in_brackets) {
            refuse_url("the ] after [ is missing");
        }
        host = *in_brackets;
        if (take_prefix(text, ":")) {
            port = text;
        } else if (!text.empty()) {
            refuse_url("unexpected text after ]");
        }
    } else if (const auto before_colon = take_until(text, ':')) {
        host = *before_colon;
        port = text;
    } else {
        host = text;
    }
    if (host.empty()) {
        refuse_url("the host is missing");
    }
    if (!redis::is_valid_host(host)) {
        refuse_url("the host must be a name or an address");
    }
    const auto server = redis::make_server_address(host, port);
    if (!server) {
        refuse_url("the port must be 1 to 65535 (write an IPv6 address in brackets)");
    }
    return *server;
}

void parse_servers(std::string_view text, RedisUrl& url) {
    const auto port = url.kind == Kind::kSentinel ? kSentinelPort : kRedisPort;
    if (url.kind == Kind::kServer && text.find(',') != text.npos) {
        refuse_url("several hosts need redis+sentinel:// or redis+cluster://");
    }
    while (const auto first = take_until(text, ',')) {
        url.servers.push_back(parse_server(*first, port));
    }
    url.servers.push_back(parse_server(text, port));
}

/// The name of a master in the configuration of Sentinel. A part of a password with a `/` is often
/// no such name.
bool is_master_name(std::string_view name) {
    return !name.empty() && name.find(':') == name.npos && redis::is_valid_host(name);
}

/// Parses what follows the servers and the `/`. `path` is empty if there is nothing.
void parse_path(std::string_view path, RedisUrl& url) {
    if (url.kind == Kind::kCluster) {
        if (!path.empty()) {
            refuse_url("a cluster has no databases: nothing may follow the hosts");
        }
        return;
    }
    if (url.kind == Kind::kSentinel) {
        const auto before_slash = take_until(path, '/');
        const auto master = before_slash.value_or(path);
        if (!is_master_name(master)) {
            refuse_url("the name of the master must follow the Sentinels: HOST,HOST/MASTER");
        }
        url.master = master;
        path = before_slash ? path : std::string_view();
    }
    if (!path.empty()) {
        url.database = parse_database(path);
    }
}

RedisUrl parse_unix(std::string_view text) {
    RedisUrl url;
    take_parameters(text, true, url);
    if (take_prefix(text, "//")) {
        const auto slash = text.find('/');
        auto login = text.substr(0, slash);
        take_login(login, url);
        if (!login.empty() || slash == std::string_view::npos) {
            refuse_url("the path after unix:// must be absolute");
        }
        text.remove_prefix(slash);
    }
    if (text.empty()) {
        refuse_url("the path is missing");
    }
    url.path = text;
    return url;
}

struct Scheme {
    std::string_view prefix;
    Kind kind;
    bool tls;
};

constexpr std::array<Scheme, 6> kSchemes{{
    {"redis://", Kind::kServer, false},
    {"rediss://", Kind::kServer, true},
    {"redis+sentinel://", Kind::kSentinel, false},
    {"rediss+sentinel://", Kind::kSentinel, true},
    {"redis+cluster://", Kind::kCluster, false},
    {"rediss+cluster://", Kind::kCluster, true},
}};

}  // namespace

RedisUrl parse_redis_url(std::string_view text) {
    if (text.find('\0') != std::string_view::npos) {
        refuse_url("it contains a NUL byte");
    }
    if (take_prefix(text, "unix:")) {
        return parse_unix(text);
    }
    const auto* const scheme = std::ranges::find_if(
        kSchemes, [&](const Scheme& known) { return take_prefix(text, known.prefix); });
    if (scheme == kSchemes.end()) {
        refuse_url(
            "it must begin with redis://, redis+sentinel://, redis+cluster:// (with rediss for "
            "TLS) or unix:");
    }
    RedisUrl url;
    url.kind = scheme->kind;
    url.tls.on = scheme->tls;
    take_parameters(text, false, url);
    const auto slash = text.find('/');
    auto authority = text.substr(0, slash);
    take_login(authority, url);
    parse_servers(authority, url);
    parse_path(slash == text.npos ? std::string_view() : text.substr(slash + 1), url);
    return url;
}

}  // namespace tollgate::cli
