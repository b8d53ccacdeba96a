#pragma once

#include <cstdint>
#include <string_view>

namespace tollgate::redis {

/// The scope of an error reply of Redis.
enum class ErrorScope : std::uint8_t {
    kServer,   ///< all commands of this connection: OOM, READONLY, LOADING, NOAUTH, …
    kCluster,  ///< the location of a key in a cluster: MOVED, ASK, TRYAGAIN, CROSSSLOT
    kCommand   ///< only this command and its keys: WRONGTYPE, and unknown errors
};

/// Determines the scope by the error's code: the first word of the message. Redis 6 and earlier put
/// the position in a script before the code.
ErrorScope error_scope(std::string_view message) noexcept;

/// Whether the message has this code, such as "READONLY".
bool has_error_code(std::string_view message, std::string_view code) noexcept;

}  // namespace tollgate::redis
