#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tollgate::cli {

/// The names that are most similar to `word`, at most three. Similarity is the edit distance:
/// letters added, removed, replaced, or two neighbours exchanged. The distance of a similar name is
/// at most two, or a third of the length of `word`, whichever is more.
std::vector<std::string> similar_names(std::string_view word, std::span<const std::string> names);

/// A suggestion for a message: ` (did you mean "free"?)`. Empty if `names` is empty.
std::string did_you_mean(std::span<const std::string> names);

}  // namespace tollgate::cli
