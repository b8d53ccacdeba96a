#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tollgate {

/// Writes a JSON text (RFC 8259) sequentially, without spaces. Workers do not use nlohmann_json:
/// the destructor of its values allocates memory, which terminates the process if memory is short.
/// All members except take() throw std::bad_alloc.
class JsonWriter {
  public:
    /// Writes an object or an array. `write` writes its members or elements.
    template <typename Write>
    void object(Write write) {
        nest('{', '}', write);
    }
    template <typename Write>
    void array(Write write) {
        nest('[', ']', write);
    }

    /// Writes the name of a member of an object. Its value must follow.
    void name(std::string_view name);
    template <typename Value>
    void member(std::string_view its_name, const Value& its_value) {
        name(its_name);
        value(its_value);
    }
    /// A member that is null if the text is empty.
    void member_or_null(std::string_view its_name, std::string_view text) {
        member(its_name, text.empty() ? std::nullopt : std::optional(text));
    }
    /// A member that is an object.
    template <typename Write>
    void object(std::string_view its_name, Write write) {
        name(its_name);
        object(write);
    }
    /// A member that is an array.
    template <typename Write>
    void array(std::string_view its_name, Write write) {
        name(its_name);
        array(write);
    }

    /// Bytes that are not UTF-8 become U+FFFD.
    void value(std::string_view text);
    void value(const char* text) { value(std::string_view(text)); }
    void value(bool value);
    /// The shortest form of a finite number. From 2^53 on it has an exponent, so that no reader
    /// takes it for an integer with all its digits. The negative zero becomes 0: readers take -0
    /// for an integer, which has no sign.
    void value(double number);
    void value(std::integral auto number) { add_number(number); }
    void null();
    /// A value that is JSON already.
    void json(std::string_view text);
    template <typename Value>
    void value(const std::optional<Value>& value_or_null) {
        if (value_or_null) {
            value(*value_or_null);
        } else {
            null();
        }
    }

    std::string take() && { return std::move(text_); }

  private:
    template <typename Write>
    void nest(char open, char close, Write write) {
        separate();
        text_ += open;
        needs_comma_ = false;
        write();
        text_ += close;
        needs_comma_ = true;
    }
    template <typename Number>
    void add_number(Number number, auto... format) {
        constexpr std::size_t kLongest = 32;
        char digits[kLongest];
        const char* end = std::to_chars(digits, digits + kLongest, number, format...).ptr;
        separate();
        text_.append(digits, static_cast<std::size_t>(end - digits));
        needs_comma_ = true;
    }
    void separate();
    void add_quoted(std::string_view text);

    std::string text_;
    bool needs_comma_ = false;  ///< before the next value or name
};

}  // namespace tollgate
