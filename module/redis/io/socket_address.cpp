#include "module/redis/io/socket_address.hpp"

#include <netdb.h>

#include <cstring>
#include <memory>
#include <string>

namespace tollgate::redis {

SocketAddress::SocketAddress(const sockaddr* address, socklen_t length) noexcept : length_(length) {
    std::memcpy(&storage_, address, length);
    auto* own = reinterpret_cast<sockaddr*>(&storage_);
    name_length_ =
        ngx_sock_ntop(own, length_, reinterpret_cast<u_char*>(name_.data()), name_.size(), 1);
}

SocketAddresses numeric_address(const ServerAddress& server) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    addrinfo* found = nullptr;
    if (getaddrinfo(server.host.c_str(), std::to_string(server.port).c_str(), &hints, &found) !=
        0) {
        return {};
    }
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
    return {SocketAddress(found->ai_addr, found->ai_addrlen)};
}

}  // namespace tollgate::redis
