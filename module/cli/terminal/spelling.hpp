#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tollgate::cli {

/// A suggestion for a message: ` (did you mean "free"?)`, with the names that are most similar to
/// `word`, at most three. Similarity is the edit distance: letters added, removed, replaced, or two
/// neighbours exchanged. The distance of a similar name is at most two, or a third of the length of
/// `word`, whichever is more. Empty if no name is similar.
std::string did_you_mean(std::string_view word, std::span<const std::string> names);

}  // namespace tollgate::cli
