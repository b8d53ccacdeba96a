#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tollgate::body {

/// A reference token of a JSON pointer: the name of a member, or the index of an element.
struct ReferenceToken {
    std::string name;                    ///< decoded
    std::optional<std::uint64_t> index;  ///< if the name is an index of an array
};

/// A JSON pointer (RFC 6901) to a value in a document.
struct JsonPointer {
    std::vector<ReferenceToken> tokens;  ///< from 1 to kMostTokens
};

/// The bounds of what a worker keeps for each body.
constexpr std::size_t kMostPointers = 32;
constexpr std::size_t kMostTokens = 16;
constexpr std::size_t kLongestName = 127;  ///< in bytes

/// Parses a JSON pointer. Throws ParseError; also for the empty pointer, because a whole document
/// is no value of interest, and beyond the bounds.
JsonPointer parse_json_pointer(std::string_view text);

/// Parses 1 to kMostPointers pointers, all different. Throws ParseError.
std::vector<JsonPointer> parse_json_pointers(std::span<const std::string_view> texts);

}  // namespace tollgate::body
