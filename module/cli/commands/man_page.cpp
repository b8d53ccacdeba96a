#include "module/cli/commands/command_tree.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <sstream>

#include "module/cli/commands/command_definition.hpp"
#include "module/cli/redis/redis_session.hpp"
#include "module/cli/terminal/text_layout.hpp"
#include "module/cli/terminal/time_text.hpp"
#include "module/text/rfc3339.hpp"

namespace tollgate::cli {

namespace {

struct Example {
    std::string_view purpose;
    std::string_view command;
};

constexpr std::array kExamples{
    Example{"Issue a key for a customer, and show it once:",
            "tollgate key issue --plan free --id acme --name 'ACME Ltd'"},
    Example{
        "Issue a key with limits of its own, which expires at the end of a contract:",
        "tollgate key issue --plan enterprise --limits '5000r/m 1000000r/d' --expires 2027-12-31"},
    Example{"Move a customer to another plan:", "tollgate key set acme --plan pro"},
    Example{"Replace a key. The old one works for another day:",
            "tollgate key rotate acme --overlap 24h"},
    Example{"Find out whose key a file has:", "tollgate key find < token"},
    Example{"Show what is left of the quotas of a customer, and what was used each day:",
            "tollgate usage acme\ntollgate usage acme --history"},
    Example{"Lift the ban of a customer:", "tollgate ban lift acme"},
    Example{"Copy all keys to another Redis:",
            "tollgate export keys > keys.jsonl\n"
            "tollgate import keys.jsonl --redis redis://other:6379"},
    Example{"Show whom the plans of a new configuration would have refused yesterday:",
            "tollgate simulate --plans nginx.conf access.json.1"},
};

/// Escapes a text for roff.
std::string escaped(std::string_view text) {
    std::string result;
    for (const char c : text) {
        switch (c) {
            case '\\':
                result += "\\e";
                break;
            case '-':
                result += "\\-";
                break;
            case '\'':
                result += "\\(aq";
                break;
            case '`':
                result += "\\(ga";
                break;
            default:
                result += c;
        }
    }
    return result;
}

/// Formats a paragraph as source lines. A line that begins with a dot is escaped, because roff
/// would interpret it as a request.
std::string paragraph(std::string_view text) {
    constexpr std::size_t kWidth = 76;
    std::istringstream lines(wrap_text(escaped(text), kWidth));
    std::string line;
    std::string result;
    while (std::getline(lines, line)) {
        result += (line.starts_with('.') ? "\\&" : "") + line + "\n";
    }
    return result;
}

std::string today() {
    // Reproducible builds set the date in the environment.
    const char* epoch = std::getenv("SOURCE_DATE_EPOCH");  // NOLINT(concurrency-mt-unsafe)
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    const auto time =
        epoch == nullptr
            ? now
            : std::chrono::sys_seconds(std::chrono::seconds(redis::number_or_zero(epoch)));
    return format_time(time).substr(0, std::string_view("2027-01-01").size());
}

std::string upper(std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(),
                           [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return result;
}

/// The names and the value of an option, for the heading of its paragraph.
std::string head_of(const DefinedOption& option) {
    std::string head;
    for (const auto& name : option.names) {
        head += (head.empty() ? "" : ", ") +
                (option.positional ? "\\fI" + escaped(name) : "\\fB" + escaped(name)) + "\\fR";
    }
    if (!option.positional && !option.value.empty()) {
        head += " \\fI" + escaped(option.value) + "\\fR";
    }
    return head;
}

/// The description of an option with its choices, default and environment variable.
std::string details_of(const DefinedOption& option) {
    std::string text = option.description;
    const auto add = [&](const std::string& detail) { text += " (" + detail + ")"; };
    if (!option.choices.empty()) {
        std::string choices;
        for (const auto& choice : option.choices) {
            choices += (choices.empty() ? "" : ", ") + choice;
        }
        add(choices);
    }
    if (option.required && !option.positional) {
        add("required");
    }
    if (!option.default_value.empty()) {
        add("default: " + option.default_value);
    }
    if (!option.environment.empty()) {
        add("environment: " + option.environment);
    }
    return text;
}

bool is_help(const DefinedOption& option) {
    return std::ranges::find(option.names, "--help") != option.names.end();
}

/// The synopsis of a command: its path, required options and arguments.
std::string synopsis(const DefinedCommand& command) {
    std::string text = "\\fB" + escaped(command.path) + "\\fR";
    bool has_optional = false;
    for (const auto& option : command.options) {
        if (option.required && !option.positional) {
            text += " " + head_of(option);
        }
        has_optional = has_optional || (!option.required && !is_help(option));
    }
    text += has_optional ? " [options]" : "";
    for (const auto& option : command.options) {
        text += option.positional ? " " + head_of(option) + (option.repeatable ? "..." : "") : "";
    }
    return text;
}

void write_options(const DefinedCommand& command, bool help, std::string& page) {
    for (const auto& option : command.options) {
        if (help || !is_help(option)) {
            page += ".TP\n" + head_of(option) + "\n" + paragraph(details_of(option) + ".");
        }
    }
}

void for_each_leaf(const DefinedCommand& command,
                   const std::function<void(const DefinedCommand&)>& visit) {
    for (const auto& child : command.commands) {
        if (child.commands.empty()) {
            visit(child);
        } else {
            for_each_leaf(child, visit);
        }
    }
}

}  // namespace

std::string man_page(const CLI::App& app) {
    const DefinedCommand all = read_command_tree(app);
    std::string page = ".TH TOLLGATE 1 " + today() + " \"Tollgate " TOLLGATE_VERSION "\"\n";
    page += ".SH NAME\ntollgate \\- API keys and quotas of a Tollgate gateway\n.SH SYNOPSIS\n";
    page += ".nf\n";
    for_each_leaf(all, [&](const auto& command) { page += synopsis(command) + "\n"; });
    page += ".fi\n.SH DESCRIPTION\n" + paragraph(all.description);
    page += ".SH OPTIONS\nThe options may be given before or after a command.\n";
    write_options(all, true, page);
    page += ".SH COMMANDS\n";
    for_each_leaf(all, [&](const auto& command) {
        page += ".SS " + synopsis(command) + "\n" + paragraph(command.description + ".");
        if (!command.note.empty()) {
            page += ".PP\n" + paragraph(command.note);
        }
        write_options(command, false, page);
    });
    for (const auto& note : notes()) {
        page += ".SH " + upper(note.title) + "\n" + paragraph(note.text);
    }
    std::string before = ".SH EXAMPLES\n";
    for (const auto& [purpose, command] : kExamples) {
        page +=
            before + paragraph(purpose) + ".PP\n.RS 4\n.nf\n" + escaped(command) + "\n.fi\n.RE\n";
        before = ".PP\n";
    }
    return page + ".SH SEE ALSO\n.BR nginx (8),\n.BR redis\\-server (1)\n";
}

}  // namespace tollgate::cli
