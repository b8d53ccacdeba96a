#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "module/cli/commands/commands.hpp"
#include "module/cli/configuration/configuration.hpp"
#include "module/cli/simulation/simulate.hpp"
#include "module/cli/terminal/output.hpp"
#include "module/cli/usage/top.hpp"

namespace CLI {
class App;
}

namespace tollgate::cli {

/// The values of the command line. The initial values are the defaults.
struct CommandLine {
    Configuration configuration;  ///< of the options and the environment
    bool ask_password = false;    ///< of Redis, on the terminal
    bool json = false;
    std::optional<std::string> new_id;  ///< `--id`; without it an id is generated
    std::string id;                     ///< the argument ID
    KeyOptions key;
    ListOptions list;
    bool confirmed = false;  ///< `key revoke --yes`
    std::string overlap = "24h";
    std::vector<std::string> files;  ///< the arguments FILE of `import`
    bool follow = false;             ///< `audit --follow`
    bool history = false;            ///< `usage --history`
    ExportedDays days;               ///< `export usage`
    TopOptions top;
    SimulateOptions simulate;
    std::string url;               ///< the argument URL of `status`
    std::string shell;             ///< the argument SHELL of `completion`
    std::string listed;            ///< the argument KIND of `complete`
    std::string word;              ///< the argument WORD of `complete`
    std::function<void()> action;  ///< runs the chosen subcommand; throws Failure

    Format format() const { return json ? Format::kJson : Format::kText; }
};

/// A paragraph about all commands. The help and the manual page print it after the options.
struct Note {
    std::string_view title;
    std::string_view text;
};

/// All notes, in the order in which they are printed.
std::span<const Note> notes();

/// Defines all commands and options. Parsing, the help, the manual page and the completion are
/// derived from this definition. `line` receives the parsed values and must outlive `app`.
void define_commands(CLI::App& app, CommandLine& line);

}  // namespace tollgate::cli
