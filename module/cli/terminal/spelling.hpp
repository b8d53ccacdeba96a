#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tollgate::cli {

/// The names that somebody may have meant who wrote `word`: those that differ from it in the fewest
/// letters (added, left out, replaced, or two that changed places), if these are at most a third of
/// its letters or two; three names at most.
std::vector<std::string> similar_names(std::string_view word, std::span<const std::string> names);

/// The names as a question, ` (did you mean "free"?)`; empty without names.
std::string did_you_mean(std::span<const std::string> names);

}  // namespace tollgate::cli
