#include "module/cli/commands/command_tree.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <sstream>

#include "module/cli/commands/command_line.hpp"
#include "module/cli/commands/examples.hpp"
#include "module/cli/terminal/text_layout.hpp"
#include "module/redis/protocol/value.hpp"
#include "module/text/rfc3339.hpp"

namespace tollgate::cli {

namespace {

/// Escapes a text for roff.
std::string escaped(std::string_view text) {
    constexpr std::string_view kSpecial = "\\-'`";
    constexpr std::array kEscapes{"\\e", "\\-", "\\(aq", "\\(ga"};
    std::string result;
    for (const char c : text) {
        const auto special = kSpecial.find(c);
        special == kSpecial.npos ? result += c : result += kEscapes.at(special);
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
    const auto time =
        epoch == nullptr
            ? std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now())
            : std::chrono::sys_seconds(std::chrono::seconds(redis::number_or_zero(epoch)));
    return format_time(time).substr(0, std::string_view("2027-01-01").size());
}

std::string upper(std::string text) {
    std::ranges::transform(text, text.begin(),
                           [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return text;
}

/// The names and the value of an option, for the heading of its paragraph.
std::string head_of(const CLI::Option& option) {
    std::string head;
    for (const auto& name : names_of(option)) {
        head += (head.empty() ? "" : ", ") +
                ((is_positional(option) ? "\\fI" : "\\fB") + escaped(name) + "\\fR");
    }
    const auto value = value_of(option);
    return is_positional(option) || value.empty() ? head : head + " \\fI" + escaped(value) + "\\fR";
}

/// The description of an option with its choices, default and environment variable.
std::string details_of(const CLI::Option& option) {
    std::string text = option.get_description();
    const auto add = [&](const std::string& label, const std::string& detail) {
        text += detail.empty() ? "" : " (" + label + detail + ")";
    };
    add("", CLI::detail::join(choices_of(option), ", "));
    add("", option.get_required() && !is_positional(option) ? "required" : "");
    add("default: ", option.get_default_str());
    add("environment: ", option.get_envname());
    return text;
}

bool is_help(const CLI::Option& option) {
    return option.check_lname("help");
}

/// The synopsis of a command: its path, required options and arguments.
std::string synopsis(const CLI::App& command) {
    std::string required;
    std::string arguments;
    bool has_optional = false;
    for (const auto* option : options_of(command)) {
        if (is_positional(*option)) {
            arguments += " " + head_of(*option) + (option->get_expected_max() > 1 ? "..." : "");
        } else if (option->get_required()) {
            required += " " + head_of(*option);
        }
        has_optional = has_optional || (!option->get_required() && !is_help(*option));
    }
    return "\\fB" + escaped(path_of(command)) + "\\fR" + required +
           (has_optional ? " [options]" : "") + arguments;
}

void write_options(const CLI::App& command, bool help, std::string& page) {
    for (const auto* option : options_of(command)) {
        if (help || !is_help(*option)) {
            page += ".TP\n" + head_of(*option) + "\n" + paragraph(details_of(*option) + ".");
        }
    }
}

void for_each_leaf(const CLI::App& command, const std::function<void(const CLI::App&)>& visit) {
    for (const auto* child : commands_of(command)) {
        if (commands_of(*child).empty()) {
            visit(*child);
        } else {
            for_each_leaf(*child, visit);
        }
    }
}

}  // namespace

std::string man_page(const CLI::App& app) {
    std::string page = ".TH TOLLGATE 1 " + today() + " \"Tollgate " TOLLGATE_VERSION "\"\n";
    page += ".SH NAME\ntollgate \\- API keys and quotas of a Tollgate gateway\n.SH SYNOPSIS\n";
    page += ".nf\n";
    for_each_leaf(app, [&](const auto& command) { page += synopsis(command) + "\n"; });
    page += ".fi\n.SH DESCRIPTION\n" + paragraph(app.get_description());
    page += ".SH OPTIONS\nThe options may be given before or after a command.\n";
    write_options(app, true, page);
    page += ".SH COMMANDS\n";
    for_each_leaf(app, [&](const CLI::App& command) {
        page += ".SS " + synopsis(command) + "\n" + paragraph(command.get_description() + ".");
        const auto note = command.get_footer();
        page += note.empty() ? "" : ".PP\n" + paragraph(note);
        write_options(command, false, page);
    });
    for (const auto& note : notes()) {
        page += ".SH " + upper(std::string(note.title)) + "\n" + paragraph(note.text);
    }
    std::string before = ".SH EXAMPLES\n";
    for (const auto& [purpose, command] : examples()) {
        page +=
            before + paragraph(purpose) + ".PP\n.RS 4\n.nf\n" + escaped(command) + "\n.fi\n.RE\n";
        before = ".PP\n";
    }
    return page + ".SH SEE ALSO\n.BR nginx (8),\n.BR redis\\-server (1)\n";
}

}  // namespace tollgate::cli
