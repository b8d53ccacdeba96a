#pragma once

#include <optional>
#include <string_view>

#include "module/core/plan.hpp"

namespace tollgate {

/// Reads a plan table as the gateways publish it in Redis, a field of the hash `plans`:
///
///     {"plans":{"free":{"rates":["60r/m","1000r/d"],"window":"fixed"},"enterprise":{"custom":true},
///               "partner":{"unlimited":true}},"default":"free","published":1795254000}
///
/// `window` is `fixed` if it is missing, `default` may be null or missing, and members that are not
/// known are ignored. Only names, plans and the default of the table are set. Nothing for a text
/// that is no such table.
std::optional<PlanTable> read_published_table(std::string_view name, std::string_view json);

}  // namespace tollgate
