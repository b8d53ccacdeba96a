#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "module/plan/plan.hpp"

namespace tollgate::cli {

/// A file that another one includes.
struct IncludedFile {
    std::string path;
    std::string text;
};

/// Reads the files that an `include` names. Throws ParseError.
using ReadIncluded = std::function<std::vector<IncludedFile>(const std::string& pattern)>;

/// Reads plan tables from a text in nginx's syntax: `tollgate_plans` blocks, or the directives of
/// one such block, which then is the table `name`. If the text has other blocks, it is a
/// configuration of nginx, or a part of its `http` block: only the `tollgate_plans` blocks are
/// read. Returns at least one table. Throws ParseError, with the line where there is one.
std::vector<PlanTable> parse_plan_file(std::string_view text, std::string_view name,
                                       const ReadIncluded& included);

/// Reads the plan tables of files. The directives outside of a `tollgate_plans` block are a table
/// that has the name of the file, without its ending. Included files are relative to the folder of
/// the file in `paths`. Throws Failure.
std::vector<PlanTable> read_plan_files(const std::vector<std::string>& paths);

}  // namespace tollgate::cli
