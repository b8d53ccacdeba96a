#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tollgate::cli {

/// Words in lines of at most so many bytes, where a word isn't longer; each with its line end.
std::string filled(std::string_view text, std::size_t width);

}  // namespace tollgate::cli
