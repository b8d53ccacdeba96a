#pragma once

extern "C" {
#include <ngx_config.h>
#include <ngx_core.h>
}

#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

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

/// The addresses at which a server may be found, in order of preference. Links read the list for
/// each attempt to connect, so a new list applies from the next attempt on.
class AddressList {
  public:
    AddressList() = default;
    explicit AddressList(std::vector<SocketAddress> addresses) : addresses_(std::move(addresses)) {}

    /// Empty if no address is known yet.
    std::span<const SocketAddress> all() const { return addresses_; }
    bool contains(const SocketAddress& address) const {
        return std::ranges::find(addresses_, address) != addresses_.end();
    }
    void replace(std::vector<SocketAddress> addresses) { addresses_ = std::move(addresses); }

  private:
    std::vector<SocketAddress> addresses_;
};

}  // namespace tollgate::redis
