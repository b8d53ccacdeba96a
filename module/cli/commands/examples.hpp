#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <string_view>

namespace tollgate::cli {

/// A command line, or several, and what it is for.
struct Example {
    std::string_view purpose;
    std::string_view command;
};

/// The examples of the help and of the manual page, in the order of the commands. Each command has
/// at least one.
std::span<const Example> examples();

/// What the help of a command prints after its options and its note: its examples, and where the
/// notes about all commands are. The help of `tollgate` itself has these notes.
std::string help_end(const CLI::App& command);

}  // namespace tollgate::cli
