#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

namespace tollgate::redis {

/// Where a server listens, as Redis or Sentinel reports it.
struct ServerAddress {
    std::string host;        ///< a name, an IPv4 address, or an IPv6 address without brackets
    std::uint16_t port = 0;  ///< 1 to 65535

    bool operator==(const ServerAddress&) const = default;
    bool operator<(const ServerAddress& other) const {
        return std::tie(host, port) < std::tie(other.host, other.port);
    }
};

/// Whether the text can be the host of a ServerAddress. A name or an IPv4 address: at most 255
/// letters, digits, `-`, `.` and `_`. An IPv6 address: at most 255 hexadecimal digits, `:` and `.`,
/// then perhaps `%` and a zone. The text comes from the network: "unix:/path" or a line break must
/// not get to a resolver or a log.
bool is_valid_host(std::string_view host) noexcept;

/// Nothing if one of them is invalid.
std::optional<ServerAddress> make_server_address(std::string_view host, std::int64_t port);
/// The port as text. Nothing if it is not a decimal number from 1 to 65535.
std::optional<ServerAddress> make_server_address(std::string_view host, std::string_view port);

/// Parses "host:port" with the last colon as separator: Redis writes an IPv6 address without
/// brackets. Brackets around the host are accepted. An empty host stands for the server that was
/// asked, at `asked_host`. Nothing if the text is invalid.
std::optional<ServerAddress> parse_server_address(std::string_view text,
                                                  std::string_view asked_host);

/// "host:port", with brackets around an IPv6 address.
std::string to_text(const ServerAddress& address);

/// For memory that processes share. 0 is never the hash of a server. Allocates nothing: a search
/// for a master goes on where no exception may pass.
std::uint32_t server_hash(const ServerAddress& address) noexcept;

}  // namespace tollgate::redis
