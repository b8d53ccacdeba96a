#include "module/redis/topology/server_address.hpp"

#include <algorithm>

#include "module/text/name_hash.hpp"
#include "module/text/whole_number.hpp"

namespace tollgate::redis {

namespace {

constexpr std::size_t kLongestHost = 255;
constexpr std::int64_t kLastPort = 65535;

// Not those of <cctype>: they depend on the locale.
bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_hexadecimal(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool is_of_name(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '.' || c == '_';
}

bool is_ipv6(std::string_view host) {
    const auto zone = host.find('%');
    const auto address = host.substr(0, zone);
    const bool has_valid_zone =
        zone == host.npos ||
        (zone + 1 < host.size() && std::ranges::all_of(host.substr(zone + 1), is_of_name));
    return has_valid_zone && std::ranges::all_of(address, [](char c) {
               return is_hexadecimal(c) || c == ':' || c == '.';
           });
}

}  // namespace

bool is_valid_host(std::string_view host) noexcept {
    if (host.empty() || host.size() > kLongestHost) {
        return false;
    }
    return host.find(':') == host.npos ? std::ranges::all_of(host, is_of_name) : is_ipv6(host);
}

std::optional<ServerAddress> make_server_address(std::string_view host, std::int64_t port) {
    if (!is_valid_host(host) || port < 1 || port > kLastPort) {
        return std::nullopt;
    }
    return ServerAddress{std::string(host), static_cast<std::uint16_t>(port)};
}

std::optional<ServerAddress> make_server_address(std::string_view host, std::string_view port) {
    const auto number = parse_whole_number(port, 1, kLastPort);
    return number ? make_server_address(host, *number) : std::nullopt;
}

std::optional<ServerAddress> parse_server_address(std::string_view text,
                                                  std::string_view asked_host) {
    const auto colon = text.rfind(':');
    if (colon == text.npos) {
        return std::nullopt;
    }
    auto host = text.substr(0, colon);
    if (host.empty()) {
        host = asked_host;
    } else if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
        host = host.substr(1, host.size() - 2);
    }
    return make_server_address(host, text.substr(colon + 1));
}

std::string to_text(const ServerAddress& address) {
    const bool is_ipv6 = address.host.find(':') != std::string::npos;
    const std::string host = is_ipv6 ? "[" + address.host + "]" : address.host;
    return host + ":" + std::to_string(address.port);
}

std::uint32_t server_hash(const ServerAddress& address) noexcept {
    // Not the hash of to_text(), which allocates. An odd factor: two ports of a host differ.
    constexpr std::uint32_t kFactor = 0x9e3779b1;
    return std::max(name_hash(address.host) ^ kFactor * address.port, std::uint32_t{1});
}

}  // namespace tollgate::redis
