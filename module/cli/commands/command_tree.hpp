#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace tollgate::cli {

/// An option or a positional argument of a command.
struct DefinedOption {
    std::vector<std::string> names;  ///< such as `-h` and `--help`; one name if positional
    std::string description;
    std::string value;                 ///< name of the value, such as `TEXT`; empty for a flag;
                                       ///< `FILE`: a path; `PLAN`, `ID`: of this Redis
    std::vector<std::string> choices;  ///< the allowed values; empty: any
    std::string default_value;         ///< empty: none
    std::string environment;           ///< the variable that sets the option; empty: none
    bool positional = false;
    bool required = false;
    bool repeatable = false;  ///< several values may be given

    bool is_file() const { return value == "FILE"; }
    /// What `tollgate complete` lists the values of: `plans` or `ids`. Empty: it lists none.
    std::string_view listed() const {
        return value == "PLAN" ? "plans" : value == "ID" ? "ids" : "";
    }
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

/// Whether a command is for the completion scripts only: the help does not list it.
bool is_hidden(const CLI::App& command);

/// Reads a command definition of CLI11. The next two functions generate their texts from the
/// result.
DefinedCommand read_command_tree(const CLI::App& app);

/// Generates the completion script of a command definition. `shell` is `bash` or `zsh`. The zsh
/// script works as a file of $fpath and with `source`.
std::string completion(const CLI::App& app, const std::string& shell);

/// Generates the manual page of a command definition, in the man(7) format. The date is that of
/// SOURCE_DATE_EPOCH (Unix seconds) if the variable is set, otherwise today.
std::string man_page(const CLI::App& app);

}  // namespace tollgate::cli
