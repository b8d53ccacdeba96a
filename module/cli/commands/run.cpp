#include "module/cli/commands/run.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <exception>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "module/cli/commands/command_line.hpp"
#include "module/cli/commands/command_tree.hpp"
#include "module/cli/commands/examples.hpp"
#include "module/cli/failure.hpp"
#include "module/cli/terminal/output.hpp"
#include "module/cli/terminal/printable.hpp"
#include "module/cli/terminal/spelling.hpp"

namespace tollgate::cli {

namespace {

/// Whether a word may appear in a message. A key never matches: only short words of lower-case
/// letters and hyphens do.
bool is_plain(std::string_view word) {
    constexpr std::size_t kLongest = 20;
    return !word.empty() && word.size() <= kLongest &&
           std::ranges::all_of(word, [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; });
}

/// The message for a word that is none of these names.
std::string unknown(const std::string& what, std::string_view word,
                    const std::vector<std::string>& names) {
    return "unknown " + what +
           (is_plain(word) ? " \"" + std::string(word) + "\"" + did_you_mean(word, names) : "");
}

std::string unknown_option(const CLI::App* command, std::string_view word) {
    word = word.substr(0, word.find('='));
    std::vector<std::string> names;
    for (; command != nullptr; command = command->get_parent()) {
        for (const auto* option : command->get_options()) {
            for (const auto& name : option->get_lnames()) {
                names.push_back("--" + name);
            }
        }
    }
    return unknown("option", word, names);
}

/// The last command that the parser has recognized.
const CLI::App* parsed_command(const CLI::App& app) {
    const CLI::App* command = &app;
    while (!command->get_subcommands().empty()) {
        command = command->get_subcommands().front();
    }
    return command;
}

/// The message for a command line that the parser rejects: which word is unknown, and which names
/// are similar. Other arguments are not repeated, because one of them may be a key.
std::string explain_mistake(const CLI::App& app, const CLI::ParseError& error) {
    const CLI::App* command = parsed_command(app);
    const auto names = command_names(*command);
    const std::string see = ": see " + path_of(*command) + " --help";
    const auto words = app.remaining(true);
    const auto is_option = [](const std::string& word) {
        return word.size() > 1 && word.front() == '-';
    };
    const auto option = std::ranges::find_if(words, is_option);
    const auto argument = std::ranges::find_if_not(words, is_option);
    // What follows an unknown command may be options of the one that was meant.
    if (argument != words.end() && !names.empty() && argument < option) {
        return unknown("command", *argument, names) + see;
    }
    if (option != words.end()) {
        return unknown_option(command, *option) + see;
    }
    if (!words.empty()) {
        return "too many arguments" + see;
    }
    if (!names.empty()) {
        return "no command given: use one of " + CLI::detail::join(names, ", ") + see;
    }
    return error.what() + see;
}

/// Parses the command line, runs the command and returns the exit status. Throws Failure.
int run_command_line(int argc, char** argv) {
    CommandLine line;
    CLI::App app;
    define_commands(app, line);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) {
            std::ostringstream text;
            const int status = app.exit(error, text, text);
            const bool is_help = dynamic_cast<const CLI::CallForHelp*>(&error) != nullptr;
            require_print(text.str() + (is_help ? help_end(*parsed_command(app)) : ""));
            return status;
        }
        throw Failure(ExitStatus::kUsage, explain_mistake(app, error));
    }
    line.action();
    return static_cast<int>(ExitStatus::kOk);
}

/// Writes the error to standard error and returns the exit status.
int report(const std::exception& error, ExitStatus status) {
    std::cerr << "tollgate: " << printable(error.what()) << '\n';
    return static_cast<int>(status);
}

}  // namespace

int run(int argc, char** argv) {
    // Report a closed pipe or socket as an error with a message, not by a signal.
    static_cast<void>(std::signal(SIGPIPE, SIG_IGN));
    try {
        occupy_standard_streams();
        return run_command_line(argc, argv);
    } catch (const Failure& failure) {
        return report(failure, failure.status());
    } catch (const std::exception& error) {
        return report(error, ExitStatus::kRedis);
    }
}

}  // namespace tollgate::cli
