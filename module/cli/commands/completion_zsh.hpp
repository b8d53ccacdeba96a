#pragma once

#include <string>

#include "module/cli/commands/definition_walk.hpp"

namespace tollgate::cli {

/// The completion for zsh, as a file of its $fpath or to be sourced.
std::string zsh_completion(const DefinedCommand& all);

}  // namespace tollgate::cli
