#pragma once

extern "C" {
#include <ngx_config.h>
#include <ngx_core.h>
}

#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "module/redis/topology/server_address.hpp"

namespace tollgate::redis {

/// A socket address, with its text for the log. It owns both.
class SocketAddress {
  public:
    /// `name` is the text of the address, as in ngx_addr_t.
    SocketAddress(const sockaddr* address, socklen_t length, std::string name)
        : length_(length), name_(std::move(name)) {
        std::memcpy(&storage_, address, length);
    }

    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
    socklen_t length() const { return length_; }
    bool is_unix() const { return storage_.ss_family == AF_UNIX; }
    const std::string& name() const { return name_; }

    /// Compares family, host and port.
    bool operator==(const SocketAddress& other) const {
        return ngx_cmp_sockaddr(const_cast<sockaddr*>(get()), length_,
                                const_cast<sockaddr*>(other.get()), other.length_, 1) == NGX_OK;
    }

  private:
    sockaddr_storage storage_{};
    socklen_t length_;
    std::string name_;
};

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
