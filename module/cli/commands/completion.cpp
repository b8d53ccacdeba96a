#include "module/cli/commands/command_tree.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <string_view>

namespace tollgate::cli {

namespace {

// The fixed parts of the bash script. The script skips the values of options, because a value is
// not a command. bash splits --option=VALUE into three words.
constexpr std::string_view kBashBegin = R"(
_tollgate() {
    local path=tollgate commands='' options='' choices='' files='' listed='' word i
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

using Visit = std::function<void(const DefinedCommand&)>;

void for_each(const DefinedCommand& command, const Visit& visit) {
    visit(command);
    for (const auto& child : command.commands) {
        for_each(child, visit);
    }
}

/// Joins words with a separator.
template <typename Words>
std::string joined(const Words& words, std::string_view between) {
    std::string text;
    for (const auto& word : words) {
        text.append(text.empty() ? "" : between).append(word);
    }
    return text;
}

bool takes_files(const DefinedCommand& command) {
    return std::ranges::any_of(command.options, [](const DefinedOption& option) {
        return option.positional && option.is_file();
    });
}

/// What `tollgate complete` lists for the positional argument of a command.
std::string_view listed_of(const DefinedCommand& command) {
    for (const auto& option : command.options) {
        if (option.positional) {
            return option.listed();
        }
    }
    return "";
}

std::set<std::string> options_of(const DefinedCommand& command) {
    std::set<std::string> names;
    for (const auto& option : command.options) {
        if (!option.positional) {
            names.insert(option.names.begin(), option.names.end());
        }
    }
    return names;
}

/// The subcommands of a command, or the choices of its positional arguments if it has no
/// subcommands.
std::vector<std::string> words_of(const DefinedCommand& command) {
    std::vector<std::string> words;
    for (const auto& child : command.commands) {
        words.push_back(child.name);
    }
    for (const auto& option : command.options) {
        if (option.positional) {
            words.insert(words.end(), option.choices.begin(), option.choices.end());
        }
    }
    return words;
}

/// Generates the script for bash.
std::string bash_completion(const DefinedCommand& all) {
    std::set<std::string> with_value;
    std::set<std::string> paths;
    std::string commands;
    std::string values;
    const auto global = options_of(all);
    for_each(all, [&](const DefinedCommand& command) {
        auto options = options_of(command);
        options.insert(global.begin(), global.end());
        commands +=
            "        '" + command.path + "')\n            commands='" +
            joined(words_of(command), " ") + "'\n            options='" + joined(options, " ") +
            "'\n" + (takes_files(command) ? "            files=yes\n" : "") +
            "            listed='" + std::string(listed_of(command)) + "'\n            ;;\n";
        if (command.path != all.path) {
            paths.insert("'" + command.path + "'");
        }
        for (const auto& option : command.options) {
            if (option.positional || option.value.empty()) {
                continue;
            }
            with_value.insert(option.names.begin(), option.names.end());
            if (!option.choices.empty()) {
                values += "        " + joined(option.names, " | ") + ")\n            choices='" +
                          joined(option.choices, " ") + "'\n            ;;\n";
            } else if (option.is_file()) {
                values += "        " + joined(option.names, " | ") +
                          ")\n            files=yes\n            ;;\n";
            } else if (!option.listed().empty()) {
                values += "        " + joined(option.names, " | ") +
                          ")\n            files=''\n            listed='" +
                          std::string(option.listed()) + "'\n            ;;\n";
            }
        }
    });
    // After any other option with a value, offer nothing.
    values += "        " + joined(with_value, " | ") + ")\n            return\n            ;;\n";
    return "# Completion of tollgate for bash, generated by `tollgate completion bash`." +
           std::string(kBashBegin) + "            " + joined(with_value, " | ") +
           std::string(kBashPath) + "            " + joined(paths, " | ") +
           std::string(kBashCommands) + commands + std::string(kBashValues) + values +
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
std::string function_of(const DefinedCommand& command) {
    std::string name = "_" + command.path;
    for (char& c : name) {
        c = c == ' ' ? '_' : c;
    }
    return name;
}

/// What _arguments offers as the value of an option.
std::string values_of(const DefinedOption& option) {
    if (option.is_file()) {
        return "_files";
    }
    if (!option.listed().empty()) {
        return "_tollgate_listed " + std::string(option.listed());
    }
    std::string values;
    for (const auto& choice : option.choices) {
        values += (values.empty() ? "(" : " ") + choice;
    }
    return values.empty() ? "" : values + ")";
}

/// The options as arguments of _arguments, one per line.
std::string option_lines(const DefinedCommand& command) {
    std::string lines;
    for (const auto& option : command.options) {
        const std::string start = option.repeatable ? "        '*" : "        '";
        if (option.positional) {
            lines += start + ":" + escaped(option.names.front(), ":") + ":" + values_of(option) +
                     "' \\\n";
            continue;
        }
        for (const auto& name : option.names) {
            lines += start + name + "[" + escaped(option.description, "[]:\\") + "]";
            if (!option.value.empty()) {
                lines += ":" + option.value + ":" + values_of(option);
            }
            lines += "' \\\n";
        }
    }
    return lines;
}

/// Writes the function that completes a command, after the functions of its subcommands. `global`
/// are the lines of the options that are valid for every command. The first command already has
/// them.
void write_function(const DefinedCommand& command, const std::string& global, bool is_first,
                    std::string& script) {
    for (const auto& child : command.commands) {
        write_function(child, global, false, script);
    }
    const auto function = function_of(command);
    const auto words = option_lines(command) + (is_first ? "" : global);
    script += "\n" + function + "() {\n";
    if (command.commands.empty()) {
        script += "    _arguments \\\n" + words + "        && return\n}\n";
        return;
    }
    script += "    local curcontext=\"$curcontext\" state line\n    local -a commands\n";
    script += "    commands=(\n";
    std::string cases;
    for (const auto& child : command.commands) {
        script += "        '" + child.name + ":" + escaped(child.description, "") + "'\n";
        cases += "        " + child.name + ") " + function_of(child) + " ;;\n";
    }
    script += "    )\n    _arguments -C \\\n" + words +
              "        '1:command:->command' \\\n        '*::argument:->argument' && return\n";
    script += "    if [[ $state == command ]]; then\n        _describe command commands\n";
    script += "        return\n    fi\n    case $line[1] in\n" + cases + "    esac\n}\n";
}

/// Generates the script for zsh.
std::string zsh_completion(const DefinedCommand& all) {
    std::string script = "#compdef tollgate\n# Generated by `tollgate completion zsh`.\n";
    DefinedCommand global = all;  // without the options that each command defines itself
    std::erase_if(global.options, [](const DefinedOption& option) {
        return option.names.front() == "-h" || option.names.front() == "--version";
    });
    script += kZshListed;
    write_function(all, option_lines(global), true, script);
    return script +
           "\n# zsh autoloads this file as a function. If it is sourced, it registers the "
           "function.\n"
           "if [[ $funcstack[1] == _tollgate ]]; then\n    _tollgate \"$@\"\nelse\n"
           "    compdef _tollgate tollgate\nfi\n";
}

}  // namespace

std::string completion(const CLI::App& app, const std::string& shell) {
    const auto all = read_command_tree(app);
    return shell == "zsh" ? zsh_completion(all) : bash_completion(all);
}

}  // namespace tollgate::cli
