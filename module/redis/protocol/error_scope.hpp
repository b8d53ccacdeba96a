#pragma once

#include <cstdint>
#include <string_view>

namespace tollgate::redis {

/// What an error reply of Redis concerns.
enum class ErrorScope : std::uint8_t {
    kServer,   ///< all commands of this connection: OOM, READONLY, LOADING, NOAUTH, …
    kCluster,  ///< where in a cluster a key is: MOVED, ASK, TRYAGAIN, CROSSSLOT
    kCommand   ///< this command and its keys alone: WRONGTYPE, and what is not known here
};

/// Tells by the error's code: the first word of the message, also behind the place in a script that
/// Redis 6 and earlier put ahead of it.
ErrorScope error_scope(std::string_view message) noexcept;

/// Whether the message has this code, such as "READONLY".
bool has_error_code(std::string_view message, std::string_view code) noexcept;

}  // namespace tollgate::redis
