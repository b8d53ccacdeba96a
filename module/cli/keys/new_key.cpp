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

/// Appends `length` random letters and digits to a text.
std::string random_text(std::string text, std::size_t length) {
    constexpr std::string_view kAlphabet =
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    // Reject bytes from the largest multiple of 62 up. They would make some characters more likely.
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
    // Read one byte more than the longest token with CR LF, to detect a longer token.
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
            "standard input does not contain a key: a key is one line of 1 to 512 letters, digits "
            "and -._~+/, optionally followed by =");
    }
    if (!has_valid_checksum(token)) {
        throw Failure(
            ExitStatus::kUsage,
            "the key begins with tg_ and has a wrong checksum: it is mistyped or incomplete");
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
