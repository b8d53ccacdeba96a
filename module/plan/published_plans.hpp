#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "module/plan/plan.hpp"
#include "module/text/json_writer.hpp"

namespace tollgate {

/// Writes a plan table as JSON. The gateways publish it in Redis as a field of the hash `plans`,
/// and the command and tollgate_admin read it to find mistakes:
///
///     {"plans":{"free":{"rates":["10r/s burst=20","1000r/d"],"window":"fixed"},
///               "enterprise":{"custom":true,"window":"fixed"},"partner":{"unlimited":true}},
///      "default":"free","history":90,"published":1795254000}
///
/// `default` is null if there is none; `history` is a number of days, and missing if the table
/// keeps none; `"by":"$name"` is the variable of a table that counts values, `"by":"group"` a table
/// that counts groups; `"ban":true` is a table that bans; `published` is `now`. Throws
/// std::bad_alloc.
std::string write_published_table(const PlanTable& table, std::chrono::sys_seconds now);

/// Writes the members of this object, without `published`. Throws std::bad_alloc.
void write_plans(JsonWriter& json, const PlanTable& table);

/// Reads the same. `window` is `fixed` if it is missing, `default` may be null or missing, and
/// unknown members are ignored. Only what this object has is set; of a ban only that there is one.
/// Returns nullopt if the text is not such a table. Throws std::bad_alloc.
std::optional<PlanTable> read_published_table(std::string_view name, std::string_view json);

}  // namespace tollgate
