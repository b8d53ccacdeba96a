#include "module/cli/commands/command_tree.hpp"

#include <algorithm>
#include <string_view>

namespace tollgate::cli {

namespace {

std::string trimmed(std::string text) {
    constexpr std::string_view kSpace = " \n";
    text.erase(0, std::min(text.find_first_not_of(kSpace), text.size()));
    text.erase(text.find_last_not_of(kSpace) + 1);
    return text;
}

/// Parses the type name of CLI11: `TEXT`, or `TEXT:{requests,refusals}` with the choices.
void read_value(const std::string& type, DefinedOption& option) {
    option.value = type.substr(0, type.find_first_of(":= "));
    const auto open = type.find('{');
    const auto close = type.find('}');
    if (open == std::string::npos || close == std::string::npos) {
        return;
    }
    option.choices = CLI::detail::split(type.substr(open + 1, close - open - 1), ',');
}

DefinedOption read_option(const CLI::Option& option) {
    DefinedOption result{.names = {},
                         .description = option.get_description(),
                         .value = "",
                         .choices = {},
                         .default_value = option.get_default_str(),
                         .environment = option.get_envname(),
                         .positional = !option.nonpositional(),
                         .required = option.get_required(),
                         .repeatable = option.get_expected_max() > 1};
    for (const auto& name : option.get_snames()) {
        result.names.push_back("-" + name);
    }
    for (const auto& name : option.get_lnames()) {
        result.names.push_back("--" + name);
    }
    if (result.positional) {
        result.names.push_back(option.get_name(true));
    }
    if (option.get_items_expected_max() > 0) {
        read_value(option.get_type_name(), result);
    }
    return result;
}

DefinedCommand read_command(const CLI::App& app, const std::string& parents,
                            const std::string& footer) {
    DefinedCommand command{.path = parents + app.get_name(),
                           .name = app.get_name(),
                           .description = app.get_description(),
                           .note = app.get_footer(),
                           .options = {},
                           .commands = {}};
    if (command.note.ends_with(footer)) {
        command.note.resize(command.note.size() - footer.size());
    }
    command.note = trimmed(command.note);
    for (const CLI::Option* option : app.get_options()) {
        command.options.push_back(read_option(*option));
    }
    std::stable_partition(command.options.begin(), command.options.end(),
                          [](const DefinedOption& option) { return option.positional; });
    const auto every = [](const CLI::App*) { return true; };
    for (const CLI::App* child : app.get_subcommands(every)) {
        if (is_hidden(*child)) {
            continue;
        }
        command.commands.push_back(read_command(*child, command.path + " ", footer));
    }
    return command;
}

}  // namespace

bool is_hidden(const CLI::App& command) {
    return command.get_group().empty();
}

DefinedCommand read_command_tree(const CLI::App& app) {
    return read_command(app, "", app.get_footer());
}

}  // namespace tollgate::cli
