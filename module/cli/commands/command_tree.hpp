#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tollgate::cli {

/// An option or positional of a command, as a definition has it.
struct DefinedOption {
    std::vector<std::string> names;  ///< `--redis`; of a positional, its one name
    std::string description;
    std::string value;                 ///< what its value is called; empty for a flag
    std::vector<std::string> choices;  ///< the values it may have, where these are few
    std::string default_value;         ///< what holds without it, if anything
    std::string environment;
    bool positional = false;
    bool required = false;
};

/// A command with its path from the first: `tollgate key issue`.
struct DefinedCommand {
    std::string path;
    std::string name;
    std::string description;
    std::string note;  ///< its own words, without those of the first command
    std::vector<DefinedOption> options;
    std::vector<DefinedCommand> commands;
};

/// Everything that was defined, to be written down in some form.
DefinedCommand read_command_tree(const CLI::App& app);

}  // namespace tollgate::cli
