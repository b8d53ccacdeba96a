#include "module/cli/simulation/plan_file.hpp"

#include <glob.h>

#include <filesystem>
#include <memory>
#include <span>
#include <system_error>
#include <utility>

#include "module/cli/configuration/conf_reader.hpp"
#include "module/cli/failure.hpp"
#include "module/key/key_record.hpp"
#include "module/plan/plan_directives.hpp"
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
        check_names(kPlansBlock, table.name, other.name);
    }
    tables.push_back(std::move(table));
}

/// The plan tables that are read.
struct PlanFileTables {
    std::vector<PlanTable> tables;  ///< of blocks
    PlanTable own;                  ///< of the directives outside of a block
    bool has_own = false;
};

/// Reads plan tables from one text, and from those that it includes.
class PlanFileParser {
  public:
    PlanFileParser(std::string_view text, const ReadIncluded& included, PlanFileTables& result,
                   int depth)
        : reader_(text), included_(included), result_(result), depth_(depth) {}

    /// Reads `tollgate_plans` blocks, and the directives of one such block.
    void read_plans() {
        read(End::kTextEnd, [](PlanFileParser& file, const ConfDirective& directive) {
            const bool is_block = directive.end == End::kBlockStart;
            if (is_block != (directive.words.front() == kPlansBlock)) {
                file.fail(is_block ? "unexpected block " + in_quotes(directive.words.front())
                                   : "directive \"tollgate_plans\" has no opening \"{\"");
            }
            if (is_block) {
                file.read_block(directive);
            } else {
                file.set(file.result_.own, directive);
                file.result_.has_own = true;
            }
        });
    }

    /// Reads the `tollgate_plans` blocks of a configuration of nginx, or of a part of its `http`
    /// block. Skips what is not in `http`.
    void read_configuration() {
        read(End::kTextEnd, [](PlanFileParser& file, const ConfDirective& directive) {
            if (directive.end == End::kBlockStart && directive.words.front() == "http") {
                file.read(End::kBlockEnd, read_block_of_http);
            } else {
                read_block_of_http(file, directive);
            }
        });
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

    /// Calls `use` with each directive until `end`, also of the files that are included.
    template <typename Use>
    void read(End end, const Use& use) {
        for (auto directive = next(); directive.end != end; directive = next()) {
            if (directive.end == End::kTextEnd) {
                fail("unexpected end of file, expecting \"}\"");
            }
            if (directive.end == End::kBlockEnd) {
                fail("unexpected \"}\"");
            }
            if (directive.end == End::kSemicolon && directive.words.front() == "include") {
                follow(directive, use);
            } else {
                use(*this, directive);
            }
        }
    }

    /// Calls `use` with the directives of each file that is included.
    template <typename Use>
    void follow(const ConfDirective& directive, const Use& use) {
        constexpr int kDeepest = 16;
        if (directive.words.size() != 2) {
            fail("invalid number of arguments in \"include\"");
        }
        if (depth_ == kDeepest) {
            fail("too many nested includes");
        }
        const auto files =
            at_line(reader_.line(), [&] { return included_(directive.words.back()); });
        for (const auto& [path, text] : files) {
            try {
                PlanFileParser(text, included_, result_, depth_ + 1).read(End::kTextEnd, use);
            } catch (const ParseError& error) {
                throw ParseError(path + ": " + error.what());
            }
        }
    }

    static void read_block_of_http(PlanFileParser& file, const ConfDirective& directive) {
        if (directive.end == End::kBlockStart) {
            directive.words.front() == kPlansBlock ? file.read_block(directive) : file.skip_block();
        }
    }

    void set(PlanTable& table, const ConfDirective& directive) const {
        const Words words(directive.words.begin(), directive.words.end());
        at_line(reader_.line(), [&] { set_plans_directive(table, words); });
    }

    void read_block(const ConfDirective& start) {
        const std::size_t line = reader_.line();
        const Words words(start.words.begin(), start.words.end());
        PlanTable table =
            at_line(line, [&] { return parse_table_directive(std::span(words).subspan(1)).table; });
        read(End::kBlockEnd, [&](const PlanFileParser& file, const ConfDirective& directive) {
            if (directive.end == End::kBlockStart) {
                file.fail("unexpected \"{\"");
            }
            file.set(table, directive);
        });
        at_line(line, [&] {
            check_plan_table(table);
            add_table(result_.tables, std::move(table));
        });
    }

    void skip_block() {
        for (int open = 1; open > 0;) {
            const auto directive = next();
            if (directive.end == End::kTextEnd) {
                fail("unexpected end of file, expecting \"}\"");
            }
            open += directive.end == End::kBlockStart ? 1 : 0;
            open -= directive.end == End::kBlockEnd ? 1 : 0;
        }
    }

    ConfReader reader_;
    const ReadIncluded& included_;
    PlanFileTables& result_;
    int depth_;  ///< of includes
};

/// Whether a text is a configuration of nginx, or a part of one: it has other blocks than
/// `tollgate_plans`.
bool is_configuration(std::string_view text) {
    ConfReader reader(text);
    try {
        for (auto directive = reader.next(); directive.end != End::kTextEnd;
             directive = reader.next()) {
            if (directive.end == End::kBlockStart && directive.words.front() != kPlansBlock) {
                return true;
            }
        }
    } catch (const ParseError&) {
        return false;  // a plan file is read up to the mistake as well
    }
    return false;
}

/// The files that a pattern names, sorted. A name without `*`, `?` and `[` names one.
std::vector<std::string> matching_files(const std::string& pattern) {
    if (pattern.find_first_of("*?[") == std::string::npos) {
        return {pattern};
    }
    glob_t found{};
    const std::unique_ptr<glob_t, decltype(&::globfree)> freed(&found, &::globfree);
    if (::glob(pattern.c_str(), 0, nullptr, &found) != 0) {
        return {};
    }
    const std::span names(found.gl_pathv, found.gl_pathc);
    return {names.begin(), names.end()};
}

/// Reads the files of an `include`. A name is relative to the folder of the configuration, as in
/// nginx. Throws ParseError.
std::vector<IncludedFile> read_included(const std::filesystem::path& folder,
                                        const std::string& pattern) {
    std::vector<IncludedFile> files;
    for (const auto& path : matching_files(folder / pattern)) {
        try {
            files.push_back({.path = path, .text = read_text_file(path)});
        } catch (const std::system_error& error) {
            throw ParseError("cannot read " + in_quotes(path) + ": " + error.code().message());
        }
    }
    return files;
}

std::string read_plan_file(const std::string& path) {
    try {
        return read_text_file(path);
    } catch (const std::system_error& error) {
        throw Failure(ExitStatus::kUsage,
                      "no plan can be read from the file " + path + ": " + error.code().message());
    }
}

}  // namespace

std::vector<PlanTable> parse_plan_file(std::string_view text, std::string_view name,
                                       const ReadIncluded& included) {
    PlanFileTables result;
    result.own.name = name;
    PlanFileParser parser(text, included, result, 0);
    if (is_configuration(text)) {
        parser.read_configuration();
        if (result.tables.empty()) {
            throw ParseError("no \"tollgate_plans\" block in it");
        }
        return std::move(result.tables);
    }
    parser.read_plans();
    if (result.has_own || result.tables.empty()) {
        check_plan_table(result.own);
        add_table(result.tables, std::move(result.own));
    }
    return std::move(result.tables);
}

std::vector<PlanTable> read_plan_files(const std::vector<std::string>& paths) {
    std::vector<PlanTable> tables;
    for (const auto& path : paths) {
        const std::filesystem::path file(path);
        const std::string stem = file.stem();
        try {
            const ReadIncluded included = [&](const std::string& pattern) {
                return read_included(file.parent_path(), pattern);
            };
            const auto text = read_plan_file(path);
            for (auto& table :
                 parse_plan_file(text, is_valid_name(stem) ? stem : "plans", included)) {
                add_table(tables, std::move(table));
            }
        } catch (const ParseError& error) {
            throw Failure(ExitStatus::kUsage, path + ": " + error.what());
        }
    }
    return tables;
}

}  // namespace tollgate::cli
