#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tollgate::cli {

/// What Redis answered.
struct RedisReply {
    enum class Kind { kNil, kInteger, kText, kArray, kError };

    Kind kind = Kind::kNil;
    std::int64_t integer = 0;
    std::string text;  ///< of an error too
    std::vector<RedisReply> elements;

    bool is_nil() const { return kind == Kind::kNil; }

    /// The elements' texts.
    std::vector<std::string> texts() const;

    /// The elements as HGETALL answers them: names and values by turns. Views of this reply.
    std::map<std::string_view, std::string_view> fields() const;
};

/// Reads a whole number that stands in Redis as text; 0 for anything else.
std::int64_t stored_number(std::string_view text);

}  // namespace tollgate::cli
