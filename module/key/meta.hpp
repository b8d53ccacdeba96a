#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace tollgate {

/// A value of a key's meta. Whole numbers are within ±(2^53 - 1), the range that all JSON readers
/// keep (RFC 8259 section 6); other numbers are finite. Texts have no control characters (C0, DEL).
using MetaValue = std::variant<bool, std::int64_t, double, std::string>;

/// The meta of a key: what programs store with it, by name. A name is a part of a variable's name:
/// 1 to 32 lower-case letters, digits and `_`.
using Meta = std::map<std::string, MetaValue, std::less<>>;

/// The most members of a meta.
inline constexpr std::size_t kMostMetaMembers = 16;
/// The longest meta, in bytes of its canonical form.
inline constexpr std::size_t kLongestMeta = 512;

/// Whether the text may be a name in a meta: see Meta.
bool is_valid_meta_name(std::string_view name);

/// What such a name consists of: for messages.
inline constexpr std::string_view kMetaNameRule = "1 to 32 lower-case letters, digits and _";

/// Parses a JSON object. Throws ParseError if it is not a valid meta: see write_meta.
Meta parse_meta(std::string_view json);

/// Parses one JSON value; nullopt if it is not a string, a number or a boolean that a meta may
/// contain.
std::optional<MetaValue> parse_meta_value(std::string_view json);

/// The meta in its canonical form: a JSON object, sorted by name, without spaces. A meta without
/// members is an empty text. Throws ParseError if a name or a value is invalid, or if there are
/// more than kMostMetaMembers or kLongestMeta.
std::string write_meta(const Meta& meta);

/// The text of a value, as variables show it: without quotes.
std::string meta_text(const MetaValue& value);

}  // namespace tollgate
