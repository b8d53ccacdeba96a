#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tollgate::redis {

/// The scope of an error reply of Redis.
enum class ErrorScope : std::uint8_t {
    kServer,   ///< all commands of this connection: OOM, READONLY, LOADING, NOAUTH, …
    kCluster,  ///< the location of a key in a cluster: MOVED, ASK, TRYAGAIN, CROSSSLOT
    kCommand   ///< only this command and its keys: WRONGTYPE, a key that the ACL forbids, unknown
               ///< errors
};

/// Determines the scope by the error's code: the first word of the message. Redis 6 and earlier put
/// the position in a script before the code.
ErrorScope error_scope(std::string_view message) noexcept;

/// What to do with a call that a deployment of several servers refused with an error reply. Redis
/// has not executed the call.
enum class ErrorAction : std::uint8_t {
    kNone,        ///< the error is not about the deployment
    kMoved,       ///< MOVED: correct the slot map, send there, refresh the map
    kAsk,         ///< ASK: send there after ASKING; the slot map is unchanged
    kRetryLater,  ///< TRYAGAIN: send to the same server after a delay; a slot migrates
    kRediscover,  ///< CLUSTERDOWN, LOADING, MASTERDOWN, READONLY: find the master again, then send
    kUnavailable  ///< NOREPLICAS, MISCONF, OOM: the server takes no writes, as if unreachable
};

/// Determines the action by the error's code, as error_scope() does.
ErrorAction error_action(std::string_view message) noexcept;

/// The codes of all errors with an action, each between spaces.
std::string error_codes_with_action();

/// Whether the message has this code, such as "READONLY".
bool has_error_code(std::string_view message, std::string_view code) noexcept;

/// Whether the ACL does not let the user run this command, or use this key.
bool is_forbidden(std::string_view message) noexcept;

/// Whether the user may not call the command at all: it is forbidden, or it is renamed.
bool is_denied(std::string_view message) noexcept;

/// Whether an operator must change something. Errors of the server (LOADING, NOREPLICAS, READONLY,
/// …) and of a cluster that moves slots end without that.
bool is_lasting(std::string_view message) noexcept;

}  // namespace tollgate::redis
