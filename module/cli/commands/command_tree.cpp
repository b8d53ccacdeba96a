#include "module/cli/commands/command_tree.hpp"

#include <algorithm>

namespace tollgate::cli {

std::string path_of(const CLI::App& command) {
    const CLI::App* const parent = command.get_parent();
    return (parent == nullptr ? "" : path_of(*parent) + " ") + command.get_name();
}

std::vector<const CLI::App*> commands_of(const CLI::App& command) {
    return command.get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); });
}

std::vector<std::string> command_names(const CLI::App& command) {
    const auto commands = commands_of(command);
    std::vector<std::string> names(commands.size());
    std::ranges::transform(commands, names.begin(), &CLI::App::get_name);
    return names;
}

std::vector<const CLI::Option*> options_of(const CLI::App& command) {
    auto options = command.get_options();
    std::stable_partition(options.begin(), options.end(),
                          [](const CLI::Option* each) { return is_positional(*each); });
    return options;
}

bool is_positional(const CLI::Option& option) {
    return !option.nonpositional();
}

std::vector<std::string> names_of(const CLI::Option& option) {
    if (is_positional(option)) {
        return {option.get_name(true)};
    }
    std::vector<std::string> names;
    names.reserve(option.get_snames().size() + option.get_lnames().size());
    for (const auto& name : option.get_snames()) {
        names.push_back("-" + name);
    }
    for (const auto& name : option.get_lnames()) {
        names.push_back("--" + name);
    }
    return names;
}

// The type name of CLI11 is `TEXT`, or `TEXT:{requests,refusals}` with the choices.
std::string value_of(const CLI::Option& option) {
    const auto type = option.get_type_name();
    return option.get_items_expected_max() > 0 ? type.substr(0, type.find_first_of(":= ")) : "";
}

std::vector<std::string> choices_of(const CLI::Option& option) {
    const auto type = option.get_type_name();
    const auto open = type.find('{');
    const auto close = type.find('}');
    if (open == std::string::npos || close == std::string::npos) {
        return {};
    }
    return CLI::detail::split(type.substr(open + 1, close - open - 1), ',');
}

}  // namespace tollgate::cli
