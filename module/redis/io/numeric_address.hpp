#pragma once

#include <optional>

#include "module/redis/io/address_list.hpp"
#include "module/redis/topology/server_address.hpp"

namespace tollgate::redis {

/// The socket address of a server whose host is an IPv4 or IPv6 address. Nothing for a host name.
/// Does not resolve names and does not block. Throws std::bad_alloc.
std::optional<SocketAddress> numeric_address(const ServerAddress& server);

}  // namespace tollgate::redis
