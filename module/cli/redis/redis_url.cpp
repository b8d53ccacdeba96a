#include "module/cli/redis/redis_url.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "module/cli/failure.hpp"
#include "module/cli/terminal/output.hpp"
#include "module/cli/terminal/terminal.hpp"
#include "module/text/file_exposure.hpp"
#include "module/text/first_line.hpp"
#include "module/text/percent_encoding.hpp"
#include "module/text/whole_number.hpp"

namespace tollgate::cli {

namespace {

using Kind = RedisUrl::Kind;

[[noreturn]] void refuse_url(const std::string& why) {
    throw Failure(ExitStatus::kUsage, "invalid Redis URL: " + why);
}

std::uint32_t parse_database(std::string_view text) {
    const auto database = parse_whole_number(text, 0, std::numeric_limits<std::uint32_t>::max());
    if (!database) {
        refuse_url("the database must be a number");
    }
    return static_cast<std::uint32_t>(*database);
}

std::string percent_decoded(std::string_view text) {
    auto decoded = percent_decode(text);
    if (!decoded) {
        refuse_url("two hexadecimal digits must follow each %");
    }
    return std::move(*decoded);
}

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

[[noreturn]] void refuse_parameter(std::string_view name, bool is_unix, const RedisUrl& url) {
    if (name.starts_with("tls_") && !url.tls.on) {
        refuse_url("tls_ parameters need rediss://, rediss+sentinel:// or rediss+cluster://");
    }
    if (name.starts_with("sentinel_") && url.kind != Kind::kSentinel) {
        refuse_url("sentinel_ parameters need redis+sentinel:// or rediss+sentinel://");
    }
    refuse_url(
        std::string(is_unix ? "only db= and password_file=" : "only password_file=") +
        (url.tls.on ? ", tls_ parameters" : "") +
        (url.kind == Kind::kSentinel ? ", sentinel_username=, sentinel_password_file=" : "") +
        " may follow the ?");
}

void set_parameter(std::string_view name, const std::string& value, bool is_unix, RedisUrl& url) {
    std::map<std::string_view, std::string*> texts{{"password_file", &url.login.password_file}};
    if (url.tls.on) {
        texts.insert({{"tls_ca", &url.tls.ca},
                      {"tls_cert", &url.tls.certificate},
                      {"tls_key", &url.tls.key},
                      {"tls_server_name", &url.tls.server_name}});
    }
    if (url.kind == Kind::kSentinel) {
        texts.insert({{"sentinel_username", &url.sentinel_login.user},
                      {"sentinel_password_file", &url.sentinel_login.password_file}});
    }
    if (const auto text = texts.find(name); text != texts.end()) {
        *text->second = value;
    } else if (name == "db" && is_unix) {
        url.database = parse_database(value);
    } else if (name != "tls_verify" || !url.tls.on) {
        refuse_parameter(name, is_unix, url);
    } else if (value != "on" && value != "off") {
        refuse_url("tls_verify must be on or off");
    } else {
        url.tls.verify = value == "on";
    }
}

/// Removes the parameters from the end of the URL. `url.kind` and `url.tls.on` are set.
void take_parameters(std::string_view& text, bool is_unix, RedisUrl& url) {
    const auto rest = text.substr(std::min(text.find('?'), text.size()));
    text.remove_suffix(rest.size());
    std::set<std::string_view> seen;
    for (std::size_t begin = 1; begin <= rest.size();) {
        const auto end = std::min(rest.find('&', begin), rest.size());
        auto value = rest.substr(begin, end - begin);
        const auto before_equal = take_until(value, '=');
        const auto name = before_equal ? *before_equal : std::exchange(value, {});
        if (!seen.insert(name).second) {
            refuse_url("a parameter after the ? is repeated");
        }
        if (value.empty()) {
            refuse_url("a parameter after the ? has no value");
        }
        set_parameter(name, percent_decoded(value), is_unix, url);
        begin = end + 1;
    }
    if (url.tls.certificate.empty() != url.tls.key.empty()) {
        refuse_url("tls_cert and tls_key need each other");
    }
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
    const bool in_brackets = text.starts_with('[');
    const auto end = text.find(':', in_brackets ? std::min(text.find(']'), text.size()) : 0);
    auto host = text.substr(0, end);
    if (end != text.npos) {
        port = text.substr(end + 1);
    }
    if (in_brackets && host.ends_with(']')) {
        host = host.substr(1, host.size() - 2);
    }
    const auto server =
        redis::is_valid_host(host) ? redis::make_server_address(host, port) : std::nullopt;
    if (!server) {
        refuse_url(
            "a host must be a name or an address (an IPv6 address in brackets), and a port must be "
            "1 to 65535");
    }
    return *server;
}

void parse_servers(std::string_view text, RedisUrl& url) {
    const auto* const port = url.kind == Kind::kSentinel ? "26379" : "6379";
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

/// The first line of the file.
std::string read_password_file(const std::string& path) {
    std::ifstream file(path);
    auto password = first_line(file);
    if (password.empty()) {
        throw Failure(ExitStatus::kUsage,
                      "no password can be read from the first line of the password_file " + path);
    }
    if (const auto exposure = exposure_of(path); !exposure.empty()) {
        warn("the password_file " + path + " " + exposure);
    }
    return password;
}

std::string ask_for_password(const std::string& whose) {
    auto password = read_hidden_line("Password of " + whose + " (it is not shown): ");
    if (password.empty()) {
        throw Failure(ExitStatus::kUsage, "no password was typed");
    }
    return password;
}

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

void read_passwords(RedisUrl& url, bool ask) {
    if (ask && !(url.login.password.empty() && url.login.password_file.empty())) {
        throw Failure(ExitStatus::kUsage,
                      "--askpass and the password of the Redis URL exclude each other");
    }
    const bool needs_login = ask || url.login.lacks_password();
    const bool needs_sentinel = url.sentinel_login.lacks_password();
    if (ask && !stdin_is_terminal()) {
        throw Failure(ExitStatus::kUsage,
                      "--askpass needs a terminal as standard input: use password_file= in the "
                      "Redis URL");
    }
    if ((needs_login || needs_sentinel) && !stdin_is_terminal()) {
        refuse_url(needs_login ? "the password is missing (use USER:PASSWORD@, :PASSWORD@, "
                                 "password_file= or a terminal)"
                               : "sentinel_password_file= is missing (or use a terminal)");
    }
    for (auto* const login : {&url.login, &url.sentinel_login}) {
        if (!login->password_file.empty()) {
            login->password = read_password_file(login->password_file);
        }
    }
    if (needs_login) {
        url.login.password = ask_for_password("Redis");
    }
    if (needs_sentinel) {
        url.sentinel_login.password = ask_for_password("the Sentinels");
    }
}

}  // namespace tollgate::cli
