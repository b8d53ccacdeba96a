#include "module/cli/commands/completion_zsh.hpp"

#include <string_view>

namespace tollgate::cli {

namespace {

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

}  // namespace

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

}  // namespace tollgate::cli
