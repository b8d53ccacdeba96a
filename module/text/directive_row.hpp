#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "module/text/parse_error.hpp"

// The table of a block's directives, such as those of `tollgate_redis` and `tollgate_plans`.

namespace tollgate {

/// A directive as words, its name first.
using Words = std::span<const std::string_view>;

/// A directive: one row of the table of its block.
template <typename Set>
struct DirectiveRow {
    std::string_view name;
    std::string_view arguments;  ///< as in the documentation; the last one may end with "..."
    Set set;                     ///< a function that takes the words; throws ParseError
    bool repeats = false;        ///< whether a block may have it more than once
};

/// The argument of a directive that has one. Throws ParseError if it is empty.
inline std::string_view required_value(Words words) {
    if (words[1].empty()) {
        throw ParseError("empty value in " + in_quotes(words[0]) + " directive");
    }
    return words[1];
}

/// Throws ParseError if a directive has too few or too many arguments.
inline void check_arguments(Words words, std::string_view arguments) {
    const bool is_open = arguments.ends_with("...");
    const auto least = static_cast<std::size_t>(1 + std::ranges::count(arguments, ' '));
    const std::size_t count = words.size() - 1;
    if (count < least || (count > least && !is_open)) {
        const bool is_single = least == 1 && !is_open;
        throw ParseError("invalid number of arguments in " + in_quotes(words[0]) +
                         " directive: it requires " + (is_single ? "exactly one " : "") +
                         std::string(arguments));
    }
}

/// The row of a directive. Adds its name to `seen`, the directives of the block so far. Throws
/// ParseError if it is unknown, has a wrong number of arguments or is duplicate. `NAME_file` sets
/// what `NAME` sets.
template <typename Table>
const auto& find_directive(const Table& table, std::string_view block, Words words,
                           std::vector<std::string_view>& seen) {
    const auto found =
        std::ranges::find_if(table, [&](const auto& row) { return row.name == words[0]; });
    if (found == std::end(table)) {
        throw ParseError("unknown directive " + in_quotes(words[0]) + " in " + in_quotes(block));
    }
    check_arguments(words, found->arguments);
    const auto value_of = [](std::string_view name) {
        constexpr std::string_view kFile = "_file";
        return name.ends_with(kFile) ? name.substr(0, name.size() - kFile.size()) : name;
    };
    if (!found->repeats && std::ranges::find(seen, value_of(found->name), value_of) != seen.end()) {
        throw ParseError(in_quotes(found->name) + " directive is duplicate");
    }
    seen.push_back(found->name);
    return *found;
}

}  // namespace tollgate
