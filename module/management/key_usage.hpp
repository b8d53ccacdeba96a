#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "module/management/ban.hpp"
#include "module/management/group_usage.hpp"
#include "module/management/stored_key.hpp"
#include "module/management/window_usage.hpp"
#include "module/plan/plan.hpp"
#include "module/text/json_writer.hpp"

namespace tollgate::management {

/// The requests in flight of an id in one plan table.
struct FlightUsage {
    std::string table;
    std::optional<std::int64_t> limit;  ///< empty: unknown
    std::int64_t places = 0;  ///< that nodes hold, at least as many as requests are in flight
};

/// The usage of an id in all plan tables.
struct KeyUsage {
    KeysOfId keys;
    std::chrono::sys_seconds now;  ///< by Redis's clock
    std::vector<WindowUsage> windows;
    std::vector<FlightUsage> flights;  ///< of tables with `in_flight`
    /// Of the group of the id: tables with `by=group` count its ids together. Empty: it has none.
    std::optional<GroupUsage> group{};
    KeyBan ban;
    bool complete = true;  ///< false: only a part of Redis was searched for counts
};

/// Reads the usage of an id by table and period, and that of its group. The windows of its plan
/// without a count are included. The plan of a subject is not known: an id without a key has the
/// windows that are counted, without limits. The tables must outlive the task. Throws
/// OperationError.
Task<KeyUsage> read_usage(Database& database, const redis::Keys& keys, std::string id,
                          CountingTables tables);

/// Writes the members of the JSON object of a usage: what `tollgate usage --json` prints and
/// tollgate_admin answers.
void write_usage(JsonWriter& json, const KeyUsage& usage);

}  // namespace tollgate::management
