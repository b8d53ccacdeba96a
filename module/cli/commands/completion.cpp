#include "module/cli/commands/command_tree.hpp"

#include <algorithm>
#include <set>
#include <string_view>

namespace tollgate::cli {

namespace {

// The fixed parts of the bash script. The script skips the values of options, because a value is
// not a command. bash splits --option=VALUE into three words.
constexpr std::string_view kBashBegin = R"(
_tollgate() {
    local path=tollgate commands='' options='' choices='' files='' listed='' value='' word i
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    COMPREPLY=()
    if [[ $current == '=' ]]; then
        current=''
    elif [[ $previous == '=' ]]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        case $word in
)";
constexpr std::string_view kBashPath = R"()
                ((i++))
                [[ ${COMP_WORDS[i]} != '=' ]] || ((i++))
                continue
                ;;
        esac
        case "$path $word" in
)";
constexpr std::string_view kBashCommands = R"()
                path+=" $word"
                ;;
        esac
    done
    case $path in
)";
constexpr std::string_view kBashValues = R"(    esac
    case $previous in
)";
constexpr std::string_view kBashEnd = R"(    esac
    # Of a value that could be anything, offer nothing.
    [[ -z $value || -n $choices$files$listed ]] || return
    # The words come from Redis: the shell must not expand them.
    if [[ -n $listed && $current != -* ]]; then
        mapfile -t COMPREPLY < <(timeout 2 "${COMP_WORDS[0]}" complete "$listed" "$current" < /dev/null 2> /dev/null)
        return
    fi
    if [[ -n $files && $current != -* ]]; then
        compopt -o filenames 2> /dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        return
    fi
    if [[ -n $choices ]]; then
        commands=$choices
    elif [[ $current == -* || -z $commands ]]; then
        commands=$options
    fi
    COMPREPLY=($(compgen -W "$commands" -- "$current"))
}
complete -F _tollgate tollgate
)";

// Offers what Redis has, for the Redis of the environment or of a configuration file.
constexpr std::string_view kZshListed = R"zsh(
_tollgate_listed() {
    local -a listed
    listed=(${(f)"$(timeout 2 tollgate complete $argv[-1] "$PREFIX" < /dev/null 2> /dev/null)"})
    compadd "${@[1,-2]}" -a listed
}
)zsh";

using CLI::detail::join;

bool is_file(const CLI::Option& option) {
    return value_of(option) == "FILE";
}

/// What `tollgate complete` lists the values of; empty: it lists none.
std::string listed_of(const CLI::Option& option) {
    const auto value = value_of(option);
    return value == "PLAN" ? "plans" : value == "GROUP" ? "groups" : value == "ID" ? "ids" : "";
}

std::string assignment(const std::string& name, const std::string& value) {
    return " " + name + "='" + value + "'";
}

/// What the values of an option are, as variables of the bash script.
std::string value_variables(const CLI::Option& option) {
    return assignment("files", is_file(option) ? "yes" : "") +
           assignment("listed", listed_of(option));
}

/// The parts of the bash script that the commands determine.
struct BashParts {
    std::set<std::string> with_value;  ///< options
    std::set<std::string> paths;
    std::string commands;
    std::string values;
};

/// Adds a command and its commands. `global` are the options that are valid for every command.
void add_to(BashParts& parts, const CLI::App& command, const std::set<std::string>& global) {
    auto words = command_names(command);
    auto options = global;
    std::string arguments;
    for (const auto* option : options_of(command)) {
        const auto names = names_of(*option);
        const auto choices = choices_of(*option);
        if (is_positional(*option)) {
            words.insert(words.end(), choices.begin(), choices.end());
            arguments += value_variables(*option);
            continue;
        }
        options.insert(names.begin(), names.end());
        if (!value_of(*option).empty()) {
            parts.with_value.insert(names.begin(), names.end());
            parts.values += "        " + join(names, " | ") + ") value=yes" +
                            assignment("choices", join(choices, " ")) + value_variables(*option) +
                            " ;;\n";
        }
    }
    const auto path = path_of(command);
    parts.commands += "        '" + path + "')" + assignment("commands", join(words, " ")) +
                      assignment("options", join(options, " ")) + arguments + " ;;\n";
    if (command.get_parent() != nullptr) {
        parts.paths.insert("'" + path + "'");
    }
    for (const auto* child : commands_of(command)) {
        add_to(parts, *child, global);
    }
}

/// Generates the script for bash.
std::string bash_completion(const CLI::App& app) {
    std::set<std::string> global;
    for (const auto* option : options_of(app)) {
        const auto names = names_of(*option);
        global.insert(names.begin(), names.end());
    }
    BashParts parts;
    add_to(parts, app, global);
    return "# Completion of tollgate for bash, generated by `tollgate completion bash`." +
           std::string(kBashBegin) + "            " + join(parts.with_value, " | ") +
           std::string(kBashPath) + "            " + join(parts.paths, " | ") +
           std::string(kBashCommands) + parts.commands + std::string(kBashValues) + parts.values +
           std::string(kBashEnd);
}

/// Escapes a text for single quotes in the shell, and puts a backslash before each character in
/// `special`, which _arguments interprets.
std::string escaped(std::string_view text, std::string_view special) {
    std::string result;
    for (const char c : text) {
        if (c == '\'') {
            result += "'\\''";
            continue;
        }
        if (special.find(c) != std::string_view::npos) {
            result += '\\';
        }
        result += c;
    }
    return result;
}

/// The name of the zsh function that completes a command.
std::string function_of(const CLI::App& command) {
    auto name = "_" + path_of(command);
    std::ranges::replace(name, ' ', '_');
    return name;
}

/// What _arguments offers as the value of an option.
std::string values_of(const CLI::Option& option) {
    const auto listed = listed_of(option);
    const auto choices = join(choices_of(option), " ");
    return is_file(option)   ? "_files"
           : !listed.empty() ? "_tollgate_listed " + listed
           : choices.empty() ? ""
                             : "(" + choices + ")";
}

/// Options as arguments of _arguments, one per line.
std::string option_lines(const std::vector<const CLI::Option*>& options) {
    std::string lines;
    for (const auto* option : options) {
        const std::string start = option->get_expected_max() > 1 ? "        '*" : "        '";
        for (const auto& name : names_of(*option)) {
            const auto value = value_of(*option);
            if (is_positional(*option)) {
                lines += start + ":" + escaped(name, ":") + ":" + values_of(*option);
            } else {
                lines += start + name + "[" + escaped(option->get_description(), "[]:\\") + "]" +
                         (value.empty() ? "" : ":" + value + ":" + values_of(*option));
            }
            lines += "' \\\n";
        }
    }
    return lines;
}

/// Writes the function that completes a command, after the functions of its subcommands. `global`
/// are the lines of the options that are valid for every command. The first command already has
/// them.
void write_function(const CLI::App& command, const std::string& global, std::string& script) {
    const auto commands = commands_of(command);
    for (const auto* child : commands) {
        write_function(*child, global, script);
    }
    const auto words =
        option_lines(options_of(command)) + (command.get_parent() == nullptr ? "" : global);
    script += "\n" + function_of(command) + "() {\n";
    if (commands.empty()) {
        script += "    _arguments \\\n" + words + "        && return\n}\n";
        return;
    }
    script += "    local curcontext=\"$curcontext\" state line\n    local -a commands\n";
    script += "    commands=(\n";
    std::string cases;
    for (const auto* child : commands) {
        script +=
            "        '" + child->get_name() + ":" + escaped(child->get_description(), "") + "'\n";
        cases += "        " + child->get_name() + ") " + function_of(*child) + " ;;\n";
    }
    script += "    )\n    _arguments -C \\\n" + words +
              "        '1:command:->command' \\\n        '*::argument:->argument' && return\n";
    script += "    if [[ $state == command ]]; then\n        _describe command commands\n";
    script += "        return\n    fi\n    case $line[1] in\n" + cases + "    esac\n}\n";
}

/// Generates the script for zsh.
std::string zsh_completion(const CLI::App& app) {
    std::string script = "#compdef tollgate\n# Generated by `tollgate completion zsh`.\n";
    script += kZshListed;
    // Each command defines --help itself, and only `tollgate` has --version.
    auto global = options_of(app);
    std::erase_if(global, [](const CLI::Option* option) {
        return option->check_lname("help") || option->check_lname("version");
    });
    write_function(app, option_lines(global), script);
    return script +
           "\n# zsh autoloads this file as a function. If it is sourced, it registers the "
           "function.\n"
           "if [[ $funcstack[1] == _tollgate ]]; then\n    _tollgate \"$@\"\nelse\n"
           "    compdef _tollgate tollgate\nfi\n";
}

}  // namespace

std::string completion(const CLI::App& app, const std::string& shell) {
    return shell == "zsh" ? zsh_completion(app) : bash_completion(app);
}

}  // namespace tollgate::cli
