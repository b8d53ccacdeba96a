// The body of a response, as JSON and as events, in pieces: the sum does not depend on the pieces.
// It is that of nlohmann's parser if this one accepts the text.

#include "module/body/response_usage.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "t/fuzz/fuzz_target.hpp"
#include "t/fuzz/repeated.hpp"

namespace tollgate::fuzz {

namespace {

using body::Format;
using body::ResponseUsage;
using Sum = std::optional<std::int64_t>;

constexpr std::array<std::string_view, 4> kPointers{"/usage/total_tokens", "/a", "/b/1/c", "/~1/0"};

/// Reads a body in pieces of so many bytes, in memory of their own: AddressSanitizer finds reads
/// beyond them.
Sum sum_in_pieces(Format format, const std::vector<body::JsonPointer>& pointers,
                  std::string_view text, std::size_t size) {
    ResponseUsage usage(pointers, format);
    for (std::size_t i = 0; i < text.size(); i += size) {
        const auto piece = text.substr(i, size);
        const std::vector<char> copy(piece.begin(), piece.end());
        usage.read({copy.data(), copy.size()});
    }
    return usage.sum();
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

void compare(std::string_view text, const std::vector<body::JsonPointer>& pointers, Sum sum) {
    const auto document = nlohmann::json::parse(text, nullptr, false);
    if (!document.is_structured() || !is_bounded(text)) {
        return;
    }
    Sum expected;
    for (const auto& pointer : pointers) {
        const auto* value = find(document, pointer);
        if (value != nullptr && value->is_number_float()) {
            return;
        }
        if (value != nullptr && value->is_number_integer()) {
            const bool is_signed = !value->is_number_unsigned();
            if ((is_signed && value->get<std::int64_t>() < 0) ||
                value->get<std::uint64_t>() > std::uint64_t{1} << 60U) {
                return;
            }
            expected = expected.value_or(0) + value->get<std::int64_t>();
        }
    }
    require(sum == expected);
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
        const Sum sum = sum_in_pieces(format, pointers, text, text.size() + 1);
        require(sum_in_pieces(format, pointers, text, size) == sum);
        require(text.size() > kShort || sum_in_pieces(format, pointers, text, 1) == sum);
        if (format == Format::kJson) {
            compare(text, pointers, sum);
        }
    }
}

}  // namespace tollgate::fuzz
