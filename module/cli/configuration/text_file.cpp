#include "module/cli/configuration/text_file.hpp"

#include <cerrno>
#include <fstream>
#include <iterator>
#include <system_error>

namespace tollgate::cli {

std::string read_text_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        throw std::system_error(errno, std::generic_category());
    }
    // A failure to read, for example from a directory, is an exception of the library.
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace tollgate::cli
