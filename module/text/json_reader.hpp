#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tollgate {

/// Receives the parts of a JSON text, in their order. A function returns false to end the reading,
/// or throws. A text may be passed on by its first parts before a mistake in it is found.
class JsonReceiver {
  public:
    JsonReceiver() = default;
    JsonReceiver(const JsonReceiver&) = delete;
    JsonReceiver& operator=(const JsonReceiver&) = delete;
    virtual ~JsonReceiver() = default;

    virtual bool null() = 0;
    virtual bool boolean(bool value) = 0;
    virtual bool integer(std::int64_t value) = 0;
    /// An integer above the largest std::int64_t.
    virtual bool large_integer(std::uint64_t value) = 0;
    /// Any other number, as it is in the text: with a fraction or an exponent, or an integer of
    /// more than 64 bits.
    virtual bool number(double value, const std::string& text) = 0;
    /// A text, in UTF-8 and without escapes. It may be moved from.
    virtual bool string(std::string& value) = 0;

    virtual bool start_object() = 0;
    /// The name of a member, whose value follows. It may be moved from. Names may be repeated.
    virtual bool key(std::string& name) = 0;
    virtual bool end_object() = 0;
    virtual bool start_array() = 0;
    virtual bool end_array() = 0;

    /// The text is not valid JSON in UTF-8, or has a number that is no finite double, at this byte,
    /// counted from 1. Nothing follows. The result is that of read_json().
    virtual bool invalid(std::size_t byte) = 0;
};

/// Reads a JSON text (RFC 8259) of any depth, without recursion. Returns whether it is valid and
/// was read to its end. A zero byte ends the text: look for one before. Throws std::bad_alloc and
/// what the receiver throws.
bool read_json(std::string_view text, JsonReceiver& receiver);

/// Whether the text is valid JSON in UTF-8. Throws std::bad_alloc.
bool is_json_text(std::string_view text);

/// The text that is between the quotation marks of a JSON string, without its escapes. Nothing if
/// it is not valid there. Throws std::bad_alloc.
std::optional<std::string> without_json_escapes(std::string_view text);

}  // namespace tollgate
