#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "module/redis/protocol/command.hpp"
#include "module/redis/protocol/value.hpp"

namespace tollgate::cli {

/// Throws Failure with ExitStatus::kRedis if the reply, or an element of it, is an error.
void require_success(const redis::Value& reply);

/// Escapes the special characters of a glob pattern of Redis (SCAN … MATCH).
std::string escape_glob(std::string_view text);

/// Whether the command calls a script.
bool is_script_call(const redis::Command& command);

/// The key of a command: its first argument, or of EVAL and EVALSHA the first key. Empty for the
/// commands without a key that this program sends, such as TIME and SCAN. The view points into
/// `command`.
std::optional<std::string_view> key_of(const redis::Command& command);

}  // namespace tollgate::cli
