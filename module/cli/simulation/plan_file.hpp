#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "module/quota/plan.hpp"

namespace tollgate::cli {

/// Reads plan tables from a text in nginx's syntax: `tollgate_plans` blocks, or the directives of
/// one such block, which then is the table `name`. `include` is refused. Returns at least one
/// table. Throws ParseError, with the line where there is one.
std::vector<PlanTable> parse_plan_file(std::string_view text, std::string_view name);

/// Reads the plan tables of files. The directives outside of a `tollgate_plans` block are a table
/// that has the name of the file, without its ending. Throws Failure.
std::vector<PlanTable> read_plan_files(const std::vector<std::string>& paths);

}  // namespace tollgate::cli
