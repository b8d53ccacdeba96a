#include "module/cli/simulation/plan_file.hpp"

#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <utility>

#include "module/cli/failure.hpp"
#include "module/cli/configuration/conf_reader.hpp"
#include "module/key/key_record.hpp"
#include "module/quota/plan_directives.hpp"
#include "module/text/name_hash.hpp"
#include "module/text/parse_error.hpp"

namespace tollgate::cli {

namespace {

using End = ConfDirective::End;

constexpr std::string_view kPlansBlock = "tollgate_plans";

[[noreturn]] void fail_at(std::size_t line, const std::string& message) {
    throw ParseError("line " + std::to_string(line) + ": " + message);
}

/// Calls `read`. An error gets the number of the line.
template <typename Read>
auto at_line(std::size_t line, Read read) {
    try {
        return read();
    } catch (const ParseError& error) {
        fail_at(line, error.what());
    }
}

void add_table(std::vector<PlanTable>& tables, PlanTable table) {
    for (const auto& other : tables) {
        const std::string conflict = name_conflict(kPlansBlock, table.name, other.name);
        if (!conflict.empty()) {
            throw ParseError(conflict);
        }
    }
    tables.push_back(std::move(table));
}

/// Reads plan tables from one text.
class PlanFileParser {
  public:
    explicit PlanFileParser(std::string_view text) : reader_(text) {}

    std::vector<PlanTable> parse(std::string_view name) {
        PlanTable own;
        own.name = name;
        for (auto directive = next(); directive.end != End::kTextEnd; directive = next()) {
            if (directive.end == End::kBlockEnd) {
                fail("unexpected \"}\"");
            }
            const bool is_block = directive.end == End::kBlockStart;
            if (is_block != (directive.words.front() == kPlansBlock)) {
                fail(is_block ? "unexpected block " + in_quotes(directive.words.front()) +
                                    ": the file contains tollgate_plans blocks, or what is in one"
                              : "directive \"tollgate_plans\" has no opening \"{\"");
            }
            if (is_block) {
                read_block(directive);
            } else {
                set(own, directive);
                has_own_ = true;
            }
        }
        if (has_own_ || tables_.empty()) {
            check_plan_table(own);
            add_table(tables_, std::move(own));
        }
        return std::move(tables_);
    }

  private:
    using Words = std::vector<std::string_view>;

    [[noreturn]] void fail(const std::string& message) const { fail_at(reader_.line(), message); }

    ConfDirective next() {
        try {
            return reader_.next();
        } catch (const ParseError& error) {
            fail(error.what());
        }
    }

    void set(PlanTable& table, const ConfDirective& directive) const {
        const Words words(directive.words.begin(), directive.words.end());
        if (words.front() == "include") {
            fail("\"include\" is not followed: name that file instead");
        }
        at_line(reader_.line(), [&] { set_plans_directive(table, words); });
    }

    void read_block(const ConfDirective& start) {
        const std::size_t line = reader_.line();
        const Words words(start.words.begin(), start.words.end());
        PlanTable table =
            at_line(line, [&] { return parse_table_directive(std::span(words).subspan(1)).table; });
        for (auto directive = next(); directive.end != End::kBlockEnd; directive = next()) {
            if (directive.end == End::kTextEnd) {
                fail("unexpected end of file, expecting \"}\"");
            }
            if (directive.end == End::kBlockStart) {
                fail("unexpected \"{\"");
            }
            set(table, directive);
        }
        at_line(line, [&] {
            check_plan_table(table);
            add_table(tables_, std::move(table));
        });
    }

    ConfReader reader_;
    std::vector<PlanTable> tables_;
    bool has_own_ = false;  ///< there are directives outside of a block
};

std::string read_whole_file(const std::string& path) {
    const std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    if (!file || !text) {
        throw Failure(ExitStatus::kUsage, "no plan can be read from the file " + path);
    }
    return text.str();
}

}  // namespace

std::vector<PlanTable> parse_plan_file(std::string_view text, std::string_view name) {
    return PlanFileParser(text).parse(name);
}

std::vector<PlanTable> read_plan_files(const std::vector<std::string>& paths) {
    std::vector<PlanTable> tables;
    for (const auto& path : paths) {
        const std::string stem = std::filesystem::path(path).stem();
        try {
            const std::string text = read_whole_file(path);
            for (auto& table : parse_plan_file(text, is_valid_name(stem) ? stem : "plans")) {
                add_table(tables, std::move(table));
            }
        } catch (const ParseError& error) {
            throw Failure(ExitStatus::kUsage, path + ": " + error.what());
        }
    }
    return tables;
}

}  // namespace tollgate::cli
