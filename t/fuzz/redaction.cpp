// A line of nginx's error log, and the value of a field in it: the first line of the input.

#include "module/key/redaction.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "t/fuzz/fuzz_target.hpp"

namespace tollgate::fuzz {

namespace {

std::string redacted(std::string text) {
    const std::array<std::string, 2> fields{"apikey", "x-api-key"};
    redact_credentials(text, fields);
    return text;
}

/// Blanks the value of a field up to the address of the client, and nothing else.
void check_value(std::string_view value, std::string_view line) {
    constexpr std::size_t kShortest = 8;
    std::string text(line);
    redact_value(text, value);
    const auto client = std::min(line.find(", client: "), line.size());
    require(text.size() == line.size());
    require(std::string_view(text).substr(client) == line.substr(client));
    for (std::size_t i = 0; i < line.size(); ++i) {
        require(text[i] == line[i] || text[i] == '*');
    }
    const bool has_value = line.substr(0, client).find(value) != std::string_view::npos;
    require(text == line || (has_value && value.size() >= kShortest));
    if (value.size() >= kShortest && value.find('*') == std::string_view::npos) {
        require(std::string_view(text).substr(0, client).find(value) == std::string_view::npos);
    }
}

}  // namespace

void check(std::string_view input) {
    const auto first = input.substr(0, input.find('\n'));
    const auto rest = input.substr(std::min(first.size() + 1, input.size()));
    check_value(first, rest);
    check_value(first, std::string(rest) + std::string(first) + ", client: " + std::string(first));
    const std::string once = redacted(std::string(input));
    require(redacted(once) == once);
    const std::string token = "0123456789abcdefABCDEF~+/-._==";
    if (input.find(token) != std::string_view::npos) {
        return;
    }
    const std::string line = std::string(input) + " Bearer " + token;
    require(redacted(line).find(token) == std::string::npos);
    if (input.find_first_of("\r\n") == std::string_view::npos) {
        const std::string field = "authorization: " + std::string(input) + token;
        require(redacted(field).find(token) == std::string::npos);
        const std::string other = "\"Apikey: " + std::string(input) + token;
        require(redacted(other).find(token) == std::string::npos);
    }
}

}  // namespace tollgate::fuzz
