#include "module/cli/redis/redis_url.hpp"

#include <charconv>
#include <map>
#include <optional>
#include <set>

#include "module/cli/failure.hpp"

namespace tollgate::cli {

namespace {

// The messages don't contain the URL, because it may contain a password.
[[noreturn]] void refuse(const std::string& why) {
    throw Failure(ExitStatus::kUsage, "invalid Redis URL: " + why);
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
    if (!text.starts_with(prefix)) {
        return false;
    }
    text.remove_prefix(prefix.size());
    return true;
}

template <typename Number>
std::optional<Number> whole_number(std::string_view text) {
    Number number = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || rest != end) {
        return std::nullopt;
    }
    return number;
}

std::uint32_t parse_database(std::string_view text) {
    const auto database = whole_number<std::uint32_t>(text);
    if (!database) {
        refuse("the database must be a number");
    }
    return *database;
}

std::string percent_decoded(std::string_view text) {
    constexpr std::size_t kEscapeLength = 3;
    constexpr int kHexadecimal = 16;
    std::string decoded;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            decoded += text[i];
            continue;
        }
        const auto escape = text.substr(i, kEscapeLength);
        const char* end = escape.data() + escape.size();
        unsigned char byte = 0;
        const auto [rest, error] = std::from_chars(escape.data() + 1, end, byte, kHexadecimal);
        if (escape.size() != kEscapeLength || error != std::errc{} || rest != end) {
            refuse("two hexadecimal digits must follow each %");
        }
        decoded += static_cast<char>(byte);
        i += kEscapeLength - 1;
    }
    return decoded;
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
    if (has_password && !url.password_file.empty()) {
        refuse("it has both a password and password_file");
    }
    if (!has_password && url.password_file.empty()) {
        refuse("the password is missing (use USER:PASSWORD@, :PASSWORD@ or password_file=)");
    }
    url.user = percent_decoded(login.substr(0, colon));
    if (has_password) {
        url.password = percent_decoded(login.substr(colon + 1));
    }
    authority.remove_prefix(at + 1);
}

enum class Scheme { kUnix, kPlain, kTls };

void set_parameter(std::string_view name, const std::string& value, Scheme scheme, RedisUrl& url) {
    const std::map<std::string_view, std::string*> texts{
        {"tls_ca", &url.tls.ca},
        {"tls_cert", &url.tls.certificate},
        {"tls_key", &url.tls.key},
        {"tls_server_name", &url.tls.server_name},
    };
    const auto text = texts.find(name);
    if (name == "password_file") {
        url.password_file = value;
    } else if (name == "db" && scheme == Scheme::kUnix) {
        url.database = parse_database(value);
    } else if (name == "tls_verify" && scheme == Scheme::kTls) {
        if (value != "on" && value != "off") {
            refuse("tls_verify must be on or off");
        }
        url.tls.verify = value == "on";
    } else if (text != texts.end() && scheme == Scheme::kTls) {
        *text->second = value;
    } else if (text != texts.end() || name == "tls_verify") {
        refuse("tls_ parameters need rediss://");
    } else {
        refuse(scheme == Scheme::kUnix ? "only db= and password_file= may follow the ?"
               : scheme == Scheme::kPlain
                   ? "only password_file= may follow the ?"
                   : "only password_file= and tls_ parameters may follow the ?");
    }
}

/// Removes `?NAME=VALUE&…` from the end of the URL.
void take_parameters(std::string_view& text, Scheme scheme, RedisUrl& url) {
    const auto query = text.find('?');
    if (query == std::string_view::npos) {
        return;
    }
    std::set<std::string_view> seen;
    auto rest = text.substr(query + 1);
    text = text.substr(0, query);
    while (true) {
        const auto end = rest.find('&');
        const auto parameter = rest.substr(0, end);
        const auto equal = parameter.find('=');
        const auto name = parameter.substr(0, equal);
        const auto value =
            equal == std::string_view::npos ? "" : percent_decoded(parameter.substr(equal + 1));
        if (!seen.insert(name).second) {
            refuse("a parameter after the ? is repeated");
        }
        if (value.empty()) {
            refuse("a parameter after the ? has no value");
        }
        set_parameter(name, value, scheme, url);
        if (end == std::string_view::npos) {
            break;
        }
        rest.remove_prefix(end + 1);
    }
    if (url.tls.certificate.empty() != url.tls.key.empty()) {
        refuse("tls_cert and tls_key need each other");
    }
}

void parse_host_and_port(std::string_view text, RedisUrl& url) {
    std::optional<std::string_view> port;
    if (take_prefix(text, "[")) {
        const auto bracket = text.find(']');
        if (bracket == std::string_view::npos) {
            refuse("the ] after [ is missing");
        }
        url.host = text.substr(0, bracket);
        text.remove_prefix(bracket + 1);
        if (take_prefix(text, ":")) {
            port = text;
        } else if (!text.empty()) {
            refuse("unexpected text after ]");
        }
    } else {
        const auto colon = text.find(':');
        url.host = text.substr(0, colon);
        if (colon != std::string_view::npos) {
            port = text.substr(colon + 1);
        }
    }
    if (url.host.empty()) {
        refuse("the host is missing");
    }
    if (port) {
        const auto number = whole_number<std::uint16_t>(*port);
        if (!number || *number == 0) {
            refuse("the port must be 1 to 65535 (write an IPv6 address in brackets)");
        }
        url.port = *number;
    }
}

RedisUrl parse_unix(std::string_view text) {
    RedisUrl url;
    take_parameters(text, Scheme::kUnix, url);
    if (take_prefix(text, "//")) {
        const auto slash = text.find('/');
        auto login = text.substr(0, slash);
        take_login(login, url);
        if (!login.empty() || slash == std::string_view::npos) {
            refuse("the path after unix:// must be absolute");
        }
        text.remove_prefix(slash);
    }
    if (text.empty()) {
        refuse("the path is missing");
    }
    url.path = text;
    return url;
}

}  // namespace

std::string RedisUrl::address() const {
    if (!path.empty()) {
        return "unix:" + path;
    }
    const bool ipv6 = host.find(':') != std::string::npos;
    return (ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

RedisUrl parse_redis_url(std::string_view text) {
    if (text.find('\0') != std::string_view::npos) {
        refuse("it contains a NUL byte");
    }
    if (take_prefix(text, "unix:")) {
        return parse_unix(text);
    }
    RedisUrl url;
    url.tls.on = take_prefix(text, "rediss://");
    if (!url.tls.on && !take_prefix(text, "redis://")) {
        refuse("it must begin with redis://, rediss:// or unix:");
    }
    take_parameters(text, url.tls.on ? Scheme::kTls : Scheme::kPlain, url);
    const auto slash = text.find('/');
    auto authority = text.substr(0, slash);
    take_login(authority, url);
    parse_host_and_port(authority, url);
    if (slash != std::string_view::npos && slash + 1 < text.size()) {
        url.database = parse_database(text.substr(slash + 1));
    }
    return url;
}

}  // namespace tollgate::cli
