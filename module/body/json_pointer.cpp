#include "module/body/json_pointer.hpp"

#include <algorithm>
#include <limits>

#include "module/text/parse_error.hpp"
#include "module/text/whole_number.hpp"

namespace tollgate::body {

namespace {

[[noreturn]] void throw_invalid(std::string_view pointer, std::string_view reason) {
    throw ParseError("invalid JSON pointer " + in_quotes(pointer) + ": " + std::string(reason));
}

/// RFC 6901 section 3: `~0` is `~`, `~1` is `/`.
std::string decode_name(std::string_view text, std::string_view pointer) {
    std::string name;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '~') {
            name += text[i];
            continue;
        }
        const char escaped = ++i < text.size() ? text[i] : '\0';
        if (escaped != '0' && escaped != '1') {
            throw_invalid(pointer, "\"~\" is not followed by 0 or 1");
        }
        name += escaped == '0' ? '~' : '/';
    }
    return name;
}

/// RFC 6901 section 4: digits without leading zeros.
std::optional<std::uint64_t> index_of(std::string_view name) {
    const bool is_canonical = name == "0" || (!name.empty() && name[0] >= '1' && name[0] <= '9');
    const auto number = is_canonical
                            ? parse_whole_number(name, 0, std::numeric_limits<std::int64_t>::max())
                            : std::nullopt;
    return number ? std::optional(static_cast<std::uint64_t>(*number)) : std::nullopt;
}

}  // namespace

JsonPointer parse_json_pointer(std::string_view text) {
    if (!text.starts_with('/')) {
        throw_invalid(text, "it begins with \"/\"");
    }
    JsonPointer pointer;
    for (std::size_t begin = 0; begin != std::string_view::npos;) {
        const std::size_t end = text.find('/', begin + 1);
        const std::string name = decode_name(text.substr(begin + 1, end - begin - 1), text);
        if (name.size() > kLongestName) {
            throw_invalid(text, "a name has at most " + std::to_string(kLongestName) + " bytes");
        }
        if (pointer.tokens.size() == kMostTokens) {
            throw_invalid(text, "it has at most " + std::to_string(kMostTokens) + " names");
        }
        pointer.tokens.push_back({name, index_of(name)});
        begin = end;
    }
    return pointer;
}

std::vector<JsonPointer> parse_json_pointers(std::span<const std::string_view> texts) {
    if (texts.size() > kMostPointers) {
        throw ParseError("more than " + std::to_string(kMostPointers) + " JSON pointers");
    }
    std::vector<JsonPointer> pointers;
    for (auto text = texts.begin(); text != texts.end(); ++text) {
        pointers.push_back(parse_json_pointer(*text));
        // A name has one escaped form, so equal pointers are equal texts.
        if (std::find(texts.begin(), text, *text) != text) {
            throw ParseError("duplicate JSON pointer " + in_quotes(*text));
        }
    }
    return pointers;
}

}  // namespace tollgate::body
