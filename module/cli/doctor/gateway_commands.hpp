#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "module/redis/protocol/command.hpp"
#include "module/redis/protocol/schema.hpp"

namespace tollgate::cli {

/// What a gateway needs a command of Redis for.
enum class GatewayUse : std::uint8_t {
    kRequests,    ///< every gateway, to decide requests
    kLastUses,    ///< every gateway, to write the last use of keys
    kChanges,     ///< every gateway, to learn of changes at once
    kNodes,       ///< every gateway, to count the nodes, and to read what changed meanwhile
    kRecalls,     ///< every gateway, to tell other nodes of recalls and bans
    kHistory,     ///< plan tables with `history`
    kSubjects,    ///< plan tables with `history` or `ban`, for ids without a key
    kInFlight,    ///< plans with `in_flight`, and `custom` plans
    kNotices,     ///< plan tables with `notify`
    kManagement,  ///< tollgate_admin
};

/// A command that the gateway's user has to be permitted.
struct GatewayCommand {
    GatewayUse use;
    std::string_view name;  ///< in lower-case letters
    /// Arguments of an example, with spaces between them: KEY is a key with the prefix, CHANNEL the
    /// channel of changes.
    std::string_view arguments;
};

/// All of them, in the order of their uses. A command with several uses is there once for each.
std::span<const GatewayCommand> gateway_commands();

/// An example of a command.
redis::Command example_of(const GatewayCommand& command, const redis::Keys& keys);

/// What a gateway does without the commands of a use.
std::string_view consequence_of(GatewayUse use);

}  // namespace tollgate::cli
