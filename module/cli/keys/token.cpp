#include "module/cli/keys/token.hpp"

#include <iostream>
#include <sstream>

#include "module/cli/failure.hpp"
#include "module/cli/terminal/terminal_mode.hpp"
#include "module/key/api_key.hpp"
#include "module/key/bearer.hpp"

namespace tollgate::cli {

std::string read_token(std::istream& input) {
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

std::string read_token() {
    if (!reads_terminal()) {
        return read_token(std::cin);
    }
    std::string line;
    std::cerr << "Key (it is not shown): " << std::flush;
    {
        const TerminalMode hidden(ECHO);
        std::getline(std::cin, line);
    }
    std::cerr << '\n';
    std::istringstream input(line);
    return read_token(input);
}

}  // namespace tollgate::cli
