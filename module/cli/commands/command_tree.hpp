#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tollgate::cli {

/// An option or a positional argument of a command.
struct DefinedOption {
    std::vector<std::string> names;  ///< such as `-h` and `--help`; one name if positional
    std::string description;
    std::string value;                 ///< name of the value, such as `TEXT`; empty for a flag
    std::vector<std::string> choices;  ///< the allowed values; empty: any
    std::string default_value;         ///< empty: none
    std::string environment;           ///< the variable that sets the option; empty: none
    bool positional = false;
    bool required = false;
};

/// A command with its options and subcommands.
struct DefinedCommand {
    std::string path;  ///< such as `tollgate key issue`
    std::string name;  ///< the last word of the path
    std::string description;
    std::string note;  ///< the command's own footer, without the footer of `tollgate`
    std::vector<DefinedOption> options;  ///< positional arguments first
    std::vector<DefinedCommand> commands;
};

/// Reads a command definition of CLI11. The manual page and the completion are generated from the
/// result.
DefinedCommand read_command_tree(const CLI::App& app);

}  // namespace tollgate::cli
