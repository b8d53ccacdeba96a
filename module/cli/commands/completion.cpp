#include "module/cli/commands/completion.hpp"

#include <functional>
#include <set>
#include <string_view>

#include "module/cli/commands/command_tree.hpp"

namespace tollgate::cli {

namespace {

// What no definition changes. A word that is an option's value must not count as a command; bash
// parts --option=VALUE into three words.
constexpr std::string_view kBashBegin = R"(
_tollgate() {
    local path=tollgate commands='' options='' choices='' word i
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
    if [[ -n $choices ]]; then
        commands=$choices
    elif [[ $current == -* || -z $commands ]]; then
        commands=$options
    fi
    COMPREPLY=($(compgen -W "$commands" -- "$current"))
}
complete -F _tollgate tollgate
)";

using Visit = std::function<void(const DefinedCommand&)>;

void for_each(const DefinedCommand& command, const Visit& visit) {
    visit(command);
    for (const auto& child : command.commands) {
        for_each(child, visit);
    }
}

/// Words, each once, with something between them.
template <typename Words>
std::string joined(const Words& words, std::string_view between) {
    std::string text;
    for (const auto& word : words) {
        text.append(text.empty() ? "" : between).append(word);
    }
    return text;
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

/// The commands of a command or, where it has none, what its arguments may be.
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

std::string bash_completion(const DefinedCommand& all) {
    std::set<std::string> with_value;
    std::set<std::string> paths;
    std::string commands;
    std::string values;
    const auto global = options_of(all);
    for_each(all, [&](const DefinedCommand& command) {
        auto options = options_of(command);
        options.insert(global.begin(), global.end());
        commands += "        '" + command.path + "')\n            commands='" +
                    joined(words_of(command), " ") + "'\n            options='" +
                    joined(options, " ") + "'\n            ;;\n";
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
            }
        }
    });
    // After another option that takes a value there is nothing to offer.
    values += "        " + joined(with_value, " | ") + ")\n            return\n            ;;\n";
    return "# Completion of tollgate for bash, made by `tollgate completion bash`." +
           std::string(kBashBegin) + "            " + joined(with_value, " | ") +
           std::string(kBashPath) + "            " + joined(paths, " | ") +
           std::string(kBashCommands) + commands + std::string(kBashValues) + values +
           std::string(kBashEnd);
}

/// A text between single quotes for the shell, the characters given escaped for _arguments.
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

std::string function_of(const DefinedCommand& command) {
    std::string name = "_" + command.path;
    for (char& c : name) {
        c = c == ' ' ? '_' : c;
    }
    return name;
}

std::string values_of(const DefinedOption& option) {
    std::string values;
    for (const auto& choice : option.choices) {
        values += (values.empty() ? "(" : " ") + choice;
    }
    return values.empty() ? "" : values + ")";
}

/// The options as words for _arguments, a line each.
std::string option_lines(const DefinedCommand& command) {
    std::string lines;
    for (const auto& option : command.options) {
        if (option.positional) {
            lines += "        ':" + escaped(option.names.front(), ":") + ":" + values_of(option) +
                     "' \\\n";
            continue;
        }
        for (const auto& name : option.names) {
            lines += "        '" + name + "[" + escaped(option.description, "[]:\\") + "]";
            if (!option.value.empty()) {
                lines += ":" + option.value + ":" + values_of(option);
            }
            lines += "' \\\n";
        }
    }
    return lines;
}

/// A function that completes the command, after those of the commands in it. `global`: lines for
/// the options that hold for every command, of which the first has them already.
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

/// The completion for zsh, as a file of its $fpath or to be sourced.
std::string zsh_completion(const DefinedCommand& all) {
    std::string script = "#compdef tollgate\n# Made by `tollgate completion zsh`.\n";
    DefinedCommand global = all;  // but for what every command has, or the first alone
    std::erase_if(global.options, [](const DefinedOption& option) {
        return option.names.front() == "-h" || option.names.front() == "--version";
    });
    write_function(all, option_lines(global), true, script);
    return script +
           "\n# Autoloaded, this file is the function; sourced, it tells the shell of it.\n"
           "if [[ $funcstack[1] == _tollgate ]]; then\n    _tollgate \"$@\"\nelse\n"
           "    compdef _tollgate tollgate\nfi\n";
}

}  // namespace

std::string completion(const CLI::App& app, const std::string& shell) {
    const auto all = read_command_tree(app);
    return shell == "zsh" ? zsh_completion(all) : bash_completion(all);
}

}  // namespace tollgate::cli
