#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "module/cli/commands/commands.hpp"
#include "module/cli/terminal/output.hpp"
#include "module/cli/usage/top.hpp"

namespace CLI {
class App;
}

namespace tollgate::cli {

/// What the command line says, with what holds where it says nothing.
struct CommandLine {
    std::string redis = "redis://127.0.0.1:6379/0";
    std::string prefix;
    bool json = false;
    std::optional<std::string> new_id;
    std::string id;
    KeyOptions key;
    std::string overlap = "24h";
    TopOptions top;
    std::string url;
    std::string shell;
    std::function<void()> action;  ///< what to do

    Format format() const { return json ? Format::kJson : Format::kText; }
};

/// What holds for all commands, and stands after the options in the help and the manual.
struct Note {
    std::string_view title;
    std::string_view text;
};

/// All notes, in their order.
std::span<const Note> notes();

/// Defines every command and option, once: parsing, the help, the manual page and the completion
/// come of it. The line must outlive the app.
void define_commands(CLI::App& app, CommandLine& line);

}  // namespace tollgate::cli
