#pragma once

#include <optional>
#include <string_view>

#include "module/redis/topology/key_slot.hpp"
#include "module/redis/topology/server_address.hpp"

namespace tollgate::redis {

/// Where MOVED or ASK sends a call.
struct Redirection {
    Slot slot;
    ServerAddress server;
};

/// Parses the message of an error whose error_action() is kMoved or kAsk: "MOVED 3999
/// 127.0.0.1:6381". An empty host stands for the server that was asked, at `asked_host`. Nothing if
/// the message names no address that a client may use, such as "?:6381": treat the error as
/// kRediscover then.
std::optional<Redirection> read_redirection(std::string_view message, std::string_view asked_host);

}  // namespace tollgate::redis
