#include "module/cli/terminal/text_fill.hpp"

#include <sstream>

namespace tollgate::cli {

std::string filled(std::string_view text, std::size_t width) {
    std::istringstream words{std::string(text)};
    std::string word;
    std::string line;
    std::string result;
    while (words >> word) {
        if (!line.empty() && line.size() + 1 + word.size() > width) {
            result += line + "\n";
            line.clear();
        }
        line += (line.empty() ? "" : " ") + word;
    }
    return line.empty() ? result : result + line + "\n";
}

}  // namespace tollgate::cli
