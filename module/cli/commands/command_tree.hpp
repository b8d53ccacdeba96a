#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace tollgate::cli {

// What the manual page and the completion read of a command definition of CLI11.

/// The words of the command, such as `tollgate key issue`.
std::string path_of(const CLI::App& command);

/// Its commands, without those for the completion scripts only, which have no group.
std::vector<const CLI::App*> commands_of(const CLI::App& command);

/// The names of these commands.
std::vector<std::string> command_names(const CLI::App& command);

/// Its options, positional arguments first.
std::vector<const CLI::Option*> options_of(const CLI::App& command);

/// Whether the option is an argument without a name.
bool is_positional(const CLI::Option& option);

/// Such as `-h` and `--help`; one name if positional.
std::vector<std::string> names_of(const CLI::Option& option);

/// The name of the value, such as `TEXT`; empty for a flag; `FILE`: a path; `PLAN`, `ID`: of this
/// Redis.
std::string value_of(const CLI::Option& option);

/// The allowed values; empty: any.
std::vector<std::string> choices_of(const CLI::Option& option);

/// Generates the completion script of a command definition. `shell` is `bash` or `zsh`. The zsh
/// script works as a file of $fpath and with `source`.
std::string completion(const CLI::App& app, const std::string& shell);

/// Generates the manual page of a command definition, in the man(7) format. The date is that of
/// SOURCE_DATE_EPOCH (Unix seconds) if the variable is set, otherwise today.
std::string man_page(const CLI::App& app);

}  // namespace tollgate::cli
