#pragma once

#include <string>
#include <string_view>

#include "module/plan/plan.hpp"
#include "module/text/directive_row.hpp"

// The directive `tollgate_plans` and the directives of its block, as words. The gateway gets the
// words from nginx, and `tollgate simulate` from a file. Both read them here.

namespace tollgate {

/// What `tollgate_plans` itself defines.
struct TableDirective {
    PlanTable table;         ///< without plans
    std::string redis_name;  ///< the value of `redis=`; empty if it is missing
};

/// Reads the words after `tollgate_plans`: a name, then optionally `redis=NAME`,
/// `lease=TIME|off`, `unit=UNIT` and `by=id|group|$variable`. Throws ParseError.
TableDirective parse_table_directive(Words words);

/// Sets one directive of the block in the table. The first word is its name; there is at least one
/// word. Throws ParseError.
void set_plans_directive(PlanTable& table, Words words);

/// Checks a table whose block has ended: it has a plan, the default is one of its plans, and its
/// values have no limit of requests in flight. Throws ParseError.
void check_plan_table(const PlanTable& table);

}  // namespace tollgate
