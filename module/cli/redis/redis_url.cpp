#include "module/cli/redis/redis_url.hpp"

#include <charconv>
#include <optional>

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
            refuse("two hexadecimal digits must follow each % in the user and the password");
        }
        decoded += static_cast<char>(byte);
        i += kEscapeLength - 1;
    }
    return decoded;
}

/// Removes `USER:PASSWORD@` from the front of `authority`.
void take_login(std::string_view& authority, RedisUrl& url) {
    const auto at = authority.rfind('@');
    if (at == std::string_view::npos) {
        return;
    }
    const auto login = authority.substr(0, at);
    const auto colon = login.find(':');
    if (colon == std::string_view::npos || colon + 1 == login.size()) {
        refuse("the password is missing (use USER:PASSWORD@ or :PASSWORD@)");
    }
    url.user = percent_decoded(login.substr(0, colon));
    url.password = percent_decoded(login.substr(colon + 1));
    authority.remove_prefix(at + 1);
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
    const auto query = text.find('?');
    if (query != std::string_view::npos) {
        auto parameters = text.substr(query + 1);
        if (!take_prefix(parameters, "db=")) {
            refuse("only db= may follow the ?");
        }
        url.database = parse_database(parameters);
        text = text.substr(0, query);
    }
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
    if (text.starts_with("rediss:")) {
        refuse("rediss: is not supported, because this build has no TLS");
    }
    if (!take_prefix(text, "redis://")) {
        refuse("it must begin with redis:// or unix:");
    }
    RedisUrl url;
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
