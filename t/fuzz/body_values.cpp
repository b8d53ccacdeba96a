// A body, as JSON and as events, in pieces: its values do not depend on the pieces. They are those
// of nlohmann's parser if this one accepts the text.

#include "module/body/value_reader.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "t/fuzz/fuzz_target.hpp"
#include "t/fuzz/repeated.hpp"

namespace tollgate::fuzz {

namespace {

using body::Format;
using body::ValueReader;
using Values = std::vector<std::string>;

constexpr std::array<std::string_view, 4> kPointers{"/usage/total_tokens", "/a", "/b/1/c", "/~1/0"};

/// Reads a body in pieces of so many bytes, in memory of their own: AddressSanitizer finds reads
/// beyond them.
Values values_in_pieces(Format format, const std::vector<body::JsonPointer>& pointers,
                        std::string_view text, std::size_t size) {
    ValueReader reader(pointers, format);
    for (std::size_t i = 0; i < text.size(); i += size) {
        const auto piece = text.substr(i, size);
        const std::vector<char> copy(piece.begin(), piece.end());
        reader.read({copy.data(), copy.size()});
    }
    Values values;
    for (std::size_t i = 0; i < pointers.size(); ++i) {
        values.emplace_back(reader.first_of(i, 1));
    }
    return values;
}

/// The value that a pointer without escapes of its own leads to; nullptr if there is none.
const nlohmann::json* find(const nlohmann::json& document, const body::JsonPointer& pointer) {
    const nlohmann::json* value = &document;
    for (const auto& token : pointer.tokens) {
        if (value->is_object() && value->contains(token.name)) {
            value = &(*value)[token.name];
        } else if (value->is_array() && token.index && *token.index < value->size()) {
            value = &(*value)[*token.index];
        } else {
            return nullptr;
        }
    }
    return value;
}

/// What is beyond the bounds of the parser.
bool is_bounded(std::string_view text) {
    std::size_t digits = 0;
    std::size_t containers = 0;
    for (const char c : text) {
        digits =
            (c >= '0' && c <= '9') || std::string_view("+-.eE").find(c) != std::string_view::npos
                ? digits + 1
                : 0;
        containers += c == '[' || c == '{' ? 1 : 0;
        if (digits > body::TokenCutter::kLongestNumber ||
            containers > body::JsonParser::kMostDepth) {
            return false;
        }
    }
    return true;
}

/// The text of a value; nothing if this test does not say how it is shown.
std::optional<std::string> text_of(const nlohmann::json* value) {
    if (value == nullptr || value->is_null() || value->is_structured()) {
        return "";
    }
    if (value->is_boolean()) {
        return value->get<bool>() ? "true" : "false";
    }
    if (value->is_number_integer()) {
        return value->dump();
    }
    if (value->is_string()) {
        const auto& text = value->get_ref<const std::string&>();
        const auto shown = body::Scalar::of_string(text).text();
        return std::string(shown);
    }
    return std::nullopt;
}

void compare(std::string_view text, const std::vector<body::JsonPointer>& pointers,
             const Values& values) {
    const auto document = nlohmann::json::parse(text, nullptr, false);
    if (!document.is_structured() || !is_bounded(text)) {
        return;
    }
    for (std::size_t i = 0; i < pointers.size(); ++i) {
        const auto expected = text_of(find(document, pointers[i]));
        require(!expected || values[i] == *expected);
    }
}

}  // namespace

void check(std::string_view input) {
    static const auto pointers = body::parse_json_pointers(kPointers);
    if (input.empty()) {
        return;
    }
    const std::string text = repeated(input.substr(1));
    constexpr std::size_t kShort = 4096;
    const std::size_t size =
        (static_cast<unsigned char>(input[0]) + std::size_t{1}) * (text.size() / kShort + 1);
    for (const Format format : {Format::kJson, Format::kEventStream}) {
        const Values values = values_in_pieces(format, pointers, text, text.size() + 1);
        require(values_in_pieces(format, pointers, text, size) == values);
        require(text.size() > kShort || values_in_pieces(format, pointers, text, 1) == values);
        if (format == Format::kJson) {
            compare(text, pointers, values);
        }
    }
}

}  // namespace tollgate::fuzz
