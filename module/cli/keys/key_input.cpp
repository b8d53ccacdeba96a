#include "module/cli/keys/key_input.hpp"

#include <iostream>
#include <sstream>

#include "module/cli/failure.hpp"
#include "module/cli/terminal/terminal.hpp"
#include "module/key/api_key.hpp"
#include "module/key/bearer.hpp"

namespace tollgate::cli {

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
