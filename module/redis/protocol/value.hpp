#pragma once

#include <hiredis/hiredis.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tollgate::redis {

class HashFields;

/// A copy of a reply of Redis, or of an element of one.
struct Value {
    enum class Kind : std::uint8_t { kNil, kInteger, kText, kArray, kError };

    Kind kind = Kind::kNil;
    std::int64_t integer = 0;
    std::string text;             ///< of kText and kError
    std::vector<Value> elements;  ///< of kArray

    bool is_nil() const { return kind == Kind::kNil; }
    bool is_error() const { return kind == Kind::kError; }

    /// The texts of the elements.
    std::vector<std::string> texts() const;

    /// The fields of a hash, from a reply to HGETALL. The views point into this value.
    HashFields fields() const;
};

/// The fields of a hash by name.
class HashFields {
  public:
    /// The views point into `hash`, a reply to HGETALL.
    explicit HashFields(const Value& hash);

    /// The value of a field; empty if the hash does not have it. A lookup stores nothing, so the
    /// name may be a temporary text.
    std::string_view operator[](std::string_view name) const;

    bool contains(std::string_view name) const { return fields_.contains(name); }
    bool empty() const { return fields_.empty(); }
    std::size_t size() const { return fields_.size(); }
    auto begin() const { return fields_.begin(); }
    auto end() const { return fields_.end(); }

  private:
    std::map<std::string_view, std::string_view> fields_;
};

/// Copies a reply of hiredis.
Value copy_of(const redisReply& reply);

/// Parses a decimal integer that Redis stores as text: a count, or a Unix time in milliseconds.
/// Returns 0 if the text is not an integer, or if its magnitude exceeds that of kLatestInstant.
std::int64_t number_or_zero(std::string_view text);

/// Parses a count of units that Redis stores as text. Returns 0 if the text is not an integer, or
/// if its magnitude exceeds Units::kMost.
std::int64_t units_or_zero(std::string_view text);

}  // namespace tollgate::redis
