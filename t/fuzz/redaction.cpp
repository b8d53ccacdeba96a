// A line of nginx's error log.

#include "module/key/redaction.hpp"

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

}  // namespace

void check(std::string_view input) {
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
