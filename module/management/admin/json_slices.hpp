#pragma once

#include <string_view>
#include <utility>
#include <vector>

namespace tollgate::management {

// The parts of a JSON text as they are in the text, so that each can be parsed on its own. The text
// must be valid.

/// The members of an object: the names as they are between their quotation marks, and the values.
/// None if the text is not an object.
std::vector<std::pair<std::string_view, std::string_view>> members_in(std::string_view json);

/// The elements of an array. None if the text is not an array.
std::vector<std::string_view> elements_in(std::string_view json);

}  // namespace tollgate::management
