#include "module/cli/terminal/spelling.hpp"

#include <algorithm>
#include <vector>

namespace tollgate::cli {

namespace {

/// The optimal string alignment distance: the Damerau-Levenshtein distance without edits of letters
/// that were exchanged before.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::vector<std::size_t>> table(a.size() + 1,
                                                std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i) {
        for (std::size_t j = 0; j <= b.size(); ++j) {
            if (i == 0 || j == 0) {
                table[i][j] = i + j;
                continue;
            }
            const std::size_t replaced = table[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            table[i][j] = std::min({replaced, table[i - 1][j] + 1, table[i][j - 1] + 1});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                table[i][j] = std::min(table[i][j], table[i - 2][j - 2] + 1);
            }
        }
    }
    return table[a.size()][b.size()];
}

}  // namespace

std::string did_you_mean(std::string_view word, std::span<const std::string> names) {
    constexpr std::size_t kMost = 3;
    constexpr std::size_t kShare = 3;
    std::size_t least = std::max<std::size_t>(2, word.size() / kShare);
    std::vector<std::string> found;
    for (const auto& name : names) {
        const auto differs = distance(word, name);
        // A name with no letter in common is not similar.
        if (differs > least || differs >= std::max(word.size(), name.size())) {
            continue;
        }
        if (differs < least) {
            found.clear();
            least = differs;
        }
        if (found.size() < kMost && std::ranges::find(found, name) == found.end()) {
            found.push_back(name);
        }
    }
    std::string text;
    for (const auto& name : found) {
        text += (text.empty() ? " (did you mean \"" : "\" or \"") + name;
    }
    return text.empty() ? text : text + "\"?)";
}

}  // namespace tollgate::cli
