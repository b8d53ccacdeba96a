#pragma once

#include <hiredis/hiredis.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "module/quota/window.hpp"

namespace tollgate::cli {

/// A reply of Redis.
struct RedisReply {
    enum class Kind { kNil, kInteger, kText, kArray, kError };

    Kind kind = Kind::kNil;
    std::int64_t integer = 0;
    std::string text;                  ///< of kText and kError
    std::vector<RedisReply> elements;  ///< of kArray

    bool is_nil() const { return kind == Kind::kNil; }
    bool is_error() const { return kind == Kind::kError; }

    /// The texts of the elements.
    std::vector<std::string> texts() const;

    /// The fields of a hash, from a reply to HGETALL. The views point into this reply.
    std::map<std::string_view, std::string_view> fields() const;
};

/// Copies a reply of hiredis.
RedisReply copy_of(const redisReply& reply);

/// Throws Failure with ExitStatus::kRedis if the reply, or an element of it, is an error.
void require_success(const RedisReply& reply);

/// Parses a decimal integer that Redis stores as text. Returns 0 if the text is not an integer.
std::int64_t number_or_zero(std::string_view text);

/// The time in a reply to TIME, in whole milliseconds.
Instant time_of_reply(const RedisReply& time);

/// Escapes the special characters of a glob pattern of Redis (SCAN … MATCH).
std::string escape_glob(std::string_view text);

/// The name and the arguments of a command. They may contain any bytes.
using RedisCommand = std::vector<std::string>;

/// The key of a command, which is its first argument. Empty for the commands without a key that
/// this program sends, such as TIME and SCAN. The view points into `command`.
std::optional<std::string_view> key_of(const RedisCommand& command);

}  // namespace tollgate::cli
