#include "module/text/json_writer.hpp"

#include <cmath>

#include "module/text/utf8.hpp"

namespace tollgate {

namespace {

/// The letter of the short escape sequence of this character; 0 if there is none.
char short_escape(char character) {
    constexpr std::string_view kEscaped = "\"\\\b\f\n\r\t";
    constexpr std::string_view kLetters = "\"\\bfnrt";
    const auto index = kEscaped.find(character);
    return index == std::string_view::npos ? '\0' : kLetters[index];
}

}  // namespace

void JsonWriter::separate() {
    if (needs_comma_) {
        text_ += ',';
    }
}

void JsonWriter::add_quoted(std::string_view text) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    text_ += '"';
    while (!text.empty()) {
        const auto first = static_cast<unsigned char>(text.front());
        const std::size_t length = utf8_length(text);
        if (length == 0) {
            text_ += "\xef\xbf\xbd";
        } else if (const char letter = short_escape(text.front()); letter != '\0') {
            text_.append(1, '\\').append(1, letter);
        } else if (first < 0x20) {
            text_.append("\\u00").append(1, kDigits[first >> 4U]).append(1, kDigits[first & 0xfU]);
        } else {
            text_.append(text.substr(0, length));
        }
        text.remove_prefix(length == 0 ? 1 : length);
    }
    text_ += '"';
}

void JsonWriter::name(std::string_view name) {
    separate();
    add_quoted(name);
    text_ += ':';
    needs_comma_ = false;
}

void JsonWriter::value(std::string_view text) {
    separate();
    add_quoted(text);
    needs_comma_ = true;
}

void JsonWriter::value(bool value) {
    separate();
    text_ += value ? "true" : "false";
    needs_comma_ = true;
}

void JsonWriter::value(double number) {
    // From here on, not each whole number is a double.
    constexpr double kLargeNumber = 9'007'199'254'740'992;
    if (std::abs(number) >= kLargeNumber) {
        add_number(number, std::chars_format::scientific);
    } else {
        add_number(number + 0.0);  // -0 becomes 0.
    }
}

void JsonWriter::json(std::string_view text) {
    separate();
    text_ += text;
    needs_comma_ = true;
}

void JsonWriter::null() {
    separate();
    text_ += "null";
    needs_comma_ = true;
}

}  // namespace tollgate
