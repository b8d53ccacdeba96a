// Plan files of tollgate simulate, and nginx's syntax.

#include "module/cli/simulation/plan_file.hpp"

#include "module/cli/configuration/conf_reader.hpp"
#include "module/text/parse_error.hpp"
#include "t/fuzz/fuzz_target.hpp"

namespace tollgate::fuzz {

namespace {

using cli::ConfDirective;
using End = ConfDirective::End;

std::vector<ConfDirective> directives_of(std::string_view text) {
    cli::ConfReader reader(text);
    std::vector<ConfDirective> directives;
    do {
        directives.push_back(reader.next());
    } while (directives.back().end != End::kTextEnd);
    return directives;
}

/// A directive with all words in quotes.
std::string written(const ConfDirective& directive) {
    std::string text;
    for (const auto& word : directive.words) {
        text += " \"";
        for (const char c : word) {
            text += c == '"' || c == '\\' ? "\\" : "";
            text += c;
        }
        text += '"';
    }
    switch (directive.end) {
        case End::kSemicolon:
            return text + ";";
        case End::kBlockStart:
            return text + "{";
        case End::kBlockEnd:
            return text + "}";
        case End::kTextEnd:
            break;
    }
    return text;
}

void check_syntax(std::string_view input) {
    const auto directives = directives_of(input);
    std::string text;
    for (const auto& directive : directives) {
        require(directive.words.empty() ==
                (directive.end == End::kBlockEnd || directive.end == End::kTextEnd));
        text += written(directive);
    }
    const auto again = directives_of(text);
    require(again.size() == directives.size());
    for (std::size_t i = 0; i < again.size(); ++i) {
        require(again[i].words == directives[i].words && again[i].end == directives[i].end);
    }
}

}  // namespace

void check(std::string_view input) {
    try {
        check_syntax(input);
    } catch (const ParseError&) {
    }
    try {
        const auto tables = cli::parse_plan_file(
            input, "file", [](const std::string& name) -> std::vector<cli::IncludedFile> {
                throw ParseError(name);
            });
        require(!tables.empty());
        for (const auto& table : tables) {
            require(!table.plans.empty());
            require(table.default_plan.empty() || table.find(table.default_plan) != nullptr);
        }
    } catch (const ParseError&) {
    }
}

}  // namespace tollgate::fuzz
