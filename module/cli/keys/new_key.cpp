#include "module/cli/keys/new_key.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <iostream>
#include <sstream>
#include <string_view>
#include <system_error>

#include "module/cli/failure.hpp"
#include "module/cli/terminal/terminal.hpp"
#include "module/key/api_key.hpp"
#include "module/key/bearer.hpp"

namespace tollgate::cli {

namespace {

template <std::size_t Size>
std::array<unsigned char, Size> random_bytes() {
    std::array<unsigned char, Size> bytes{};
    if (getentropy(bytes.data(), bytes.size()) != 0) {
        throw std::system_error(errno, std::generic_category(), "getentropy");
    }
    return bytes;
}

// 62^12 is about 2^71.
constexpr std::size_t kIdLength = 12;

/// Adds so many random letters and digits to a text.
std::string random_text(std::string text, std::size_t length) {
    constexpr std::string_view kAlphabet =
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    // Bytes beyond the largest multiple of 62 would make some characters likelier than others.
    constexpr unsigned kFair = 256 - 256 % kAlphabet.size();
    for (length += text.size(); text.size() < length;) {
        const unsigned byte = random_bytes<1>().front();
        if (byte < kFair) {
            text += kAlphabet[byte % kAlphabet.size()];
        }
    }
    return text;
}

}  // namespace

std::string random_api_key() {
    return make_api_key(random_bytes<kKeyEntropy>());
}

std::string random_key_id() {
    return random_text("key_", kIdLength);
}

std::string random_command_name() {
    return random_text("", kIdLength);
}

std::string read_api_key(std::istream& input) {
    // One byte more than a token and its CR LF can have tells a longer one.
    std::string token(kLongestToken + 3, '\0');
    input.read(token.data(), static_cast<std::streamsize>(token.size()));
    token.resize(static_cast<std::size_t>(input.gcount()));
    for (const char end : {'\n', '\r'}) {
        if (token.ends_with(end)) {
            token.pop_back();
        }
    }
    if (!is_b64token(token)) {
        throw Failure(
            ExitStatus::kUsage,
            "standard input does not hold a key: a key is one line of 1 to 512 letters, digits "
            "and -._~+/, then any number of =");
    }
    if (!has_valid_checksum(token)) {
        throw Failure(
            ExitStatus::kUsage,
            "the key begins with tg_ and has a wrong checksum: it is mistyped or cut short");
    }
    return token;
}

std::string read_api_key() {
    if (!stdin_is_terminal()) {
        return read_api_key(std::cin);
    }
    std::istringstream input(read_hidden_line("Key (it is not shown): "));
    return read_api_key(input);
}

}  // namespace tollgate::cli
