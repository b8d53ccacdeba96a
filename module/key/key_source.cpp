#include "module/key/key_source.hpp"

#include <algorithm>

#include "module/text/ascii.hpp"
#include "module/text/parse_error.hpp"

namespace tollgate {

namespace {

constexpr std::string_view kHeader = "header:";

bool is_field_name(std::string_view name) {
    constexpr std::size_t kLongest = 64;
    return !name.empty() && name.size() <= kLongest && std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-' || c == '_';
    });
}

}  // namespace

KeySource parse_key_source(std::string_view text) {
    if (text == "bearer") {
        return {"bearer", "authorization", true};
    }
    if (!text.starts_with(kHeader)) {
        throw ParseError("unknown source " + in_quotes(text) + ": use bearer or header:NAME");
    }
    const std::string_view name = text.substr(kHeader.size());
    if (!is_field_name(name)) {
        throw ParseError("invalid field name " + in_quotes(name) +
                         ": use 1 to 64 letters, digits, - and _");
    }
    KeySource source{std::string(text), std::string(name), false};
    std::ranges::transform(source.field, source.field.begin(), to_lower);
    return source;
}

std::string_view field_name(const KeySource& source) {
    return source.bearer ? std::string_view("Authorization")
                         : std::string_view(source.name).substr(kHeader.size());
}

}  // namespace tollgate
