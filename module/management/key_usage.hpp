#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "module/management/ban.hpp"
#include "module/management/stored_key.hpp"
#include "module/quota/plan.hpp"
#include "module/quota/window.hpp"
#include "module/text/json_writer.hpp"

namespace tollgate::management {

/// The usage of an id in one window or bucket of one plan table. Counts are in units of quota.
struct WindowUsage {
    std::string table;
    Period period;
    std::int64_t count = 0;                ///< counted in the current window
    std::optional<std::int64_t> previous;  ///< counted in the previous window, if windows slide
    std::int64_t used = 0;                 ///< the part of the limit that is used now
    std::optional<std::int64_t> limit;     ///< empty: unknown
    std::chrono::sys_seconds reset;        ///< end of the current window; when the bucket is full
    Rate bucket{0, period};                ///< if it is a bucket
};

/// What a window or bucket is called: `minute`, `second bucket`.
std::string name_of(const WindowUsage& window);

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
    KeyBan ban;
    bool complete = true;  ///< false: only a part of Redis was searched for counts
};

/// The tables that count an id.
struct CountingTables {
    std::vector<const PlanTable*> known = {};  ///< with the limits of their plans
    /// Tables whose plans are unknown: the key's own limits are shown.
    std::vector<std::string> found = {};
    bool complete = true;  ///< see KeyUsage::complete
};

/// These tables, which must outlive the result.
CountingTables known_tables(const std::vector<PlanTable>& tables);

/// Reads the usage of an id by table and period. The windows of its plan without a count are
/// included. The plan of a subject is not known: an id without a key has the windows that are
/// counted, without limits. The tables must outlive the task. Throws OperationError.
Task<KeyUsage> read_usage(Database& database, const redis::Keys& keys, std::string id,
                          CountingTables tables);

/// The units that are left in a window. Empty if the limit is unknown.
std::optional<std::int64_t> remaining(const WindowUsage& window);

/// Writes the members of the JSON object of a usage: what `tollgate usage --json` prints and
/// tollgate_admin answers.
void write_usage(JsonWriter& json, const KeyUsage& usage);

}  // namespace tollgate::management
