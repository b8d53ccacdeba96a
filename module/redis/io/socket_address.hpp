#pragma once

extern "C" {
#include <ngx_config.h>
#include <ngx_core.h>
}

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <type_traits>
#include <vector>

#include "module/redis/topology/server_address.hpp"

namespace tollgate::redis {

/// A socket address, with its text for the log. A copy allocates nothing: links copy addresses
/// where no exception may pass.
class SocketAddress {
  public:
    /// Copies `length` bytes, at most sizeof(sockaddr_storage).
    SocketAddress(const sockaddr* address, socklen_t length) noexcept;

    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
    socklen_t length() const { return length_; }
    bool is_unix() const { return storage_.ss_family == AF_UNIX; }
    /// Its text with the port, as nginx writes it (ngx_sock_ntop): "127.0.0.1:6379", "unix:/path".
    std::string_view name() const { return {name_.data(), name_length_}; }

    /// Compares family, host and port.
    bool operator==(const SocketAddress& other) const {
        return ngx_cmp_sockaddr(const_cast<sockaddr*>(get()), length_,
                                const_cast<sockaddr*>(other.get()), other.length_, 1) == NGX_OK;
    }

  private:
    sockaddr_storage storage_{};
    socklen_t length_;
    std::size_t name_length_;
    std::array<char, NGX_SOCKADDR_STRLEN> name_{};
};

static_assert(std::is_trivially_copyable_v<SocketAddress>);

/// The addresses at which a server may be found, in order of preference; empty if none is known
/// yet. Links read them for each attempt to connect, so new ones apply from the next attempt on.
using SocketAddresses = std::vector<SocketAddress>;

inline bool contains(const SocketAddresses& addresses, const SocketAddress& address) {
    return std::ranges::find(addresses, address) != addresses.end();
}

/// The socket address of a server whose host is an IPv4 or IPv6 address. Empty for a host name.
/// Does not resolve names and does not block. Throws std::bad_alloc.
SocketAddresses numeric_address(const ServerAddress& server);

}  // namespace tollgate::redis
