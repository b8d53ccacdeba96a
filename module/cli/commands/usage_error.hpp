#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tollgate::cli {

/// Why a command line can't be understood: which word is unknown and what is near to it. Arguments
/// are not repeated, since somebody may have written a key among them.
std::string explain(const CLI::App& app, const CLI::ParseError& error);

}  // namespace tollgate::cli
