#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "module/key/key_record.hpp"
#include "module/plan/limits.hpp"
#include "module/plan/plan.hpp"
#include "module/plan/window.hpp"
#include "module/redis/protocol/value.hpp"
#include "module/text/json_writer.hpp"

namespace tollgate::management {

/// The usage of an id or a group in one window or bucket of one plan table. Counts are in units of
/// quota.
struct WindowUsage {
    std::string table;
    std::string unit;  ///< see PlanTable::unit; empty: unknown
    Period period;
    std::int64_t count = 0;                ///< counted in the current window
    std::optional<std::int64_t> previous;  ///< counted in the previous window, if windows slide
    std::int64_t used = 0;                 ///< the part of the limit that is used now
    /// Of `count`: what the last leases of two nodes have added, if they may hold them still. They
    /// have spent a part of it; further nodes may hold more. 0: none is held, or it is a bucket.
    std::int64_t leased = 0;
    std::optional<std::int64_t> limit;  ///< empty: unknown, or none; of a balance, all credits
    bool is_unlimited = false;          ///< the plan has no limit here
    bool is_soft = false;               ///< the limit refuses nothing: `over=allow`
    /// The end of the current window; when the bucket is full. Empty: a balance, which has no end.
    std::optional<std::chrono::sys_seconds> reset;
    Rate bucket{0, period};  ///< if it is a bucket
};

/// What a window or bucket is called: `minute`, `second bucket`.
std::string name_of(const WindowUsage& window);

/// The units that are left in a window. Empty without a limit, or if it is unknown.
std::optional<std::int64_t> remaining(const WindowUsage& window);

/// The limits of an id or a group in one table.
struct TableLimits {
    std::string table;
    std::string unit{};     ///< see PlanTable::unit; empty: unknown
    Limits limits{};        ///< the known ones
    BillingDay billing{};   ///< of the record: when months begin
    bool sliding = false;   ///< of `limits`; stored windows have their own value
    bool known = false;     ///< whether `limits` is complete
    bool has_plan = false;  ///< whether they are all limits of a plan: other windows have none
    /// The longest time for which a node leases units ahead; 0: no leases.
    std::chrono::milliseconds lease_time = kLeaseTime;
};

/// The limits in a record. They apply in tables where its plan is `custom`.
Limits own_limits(const KeyRecord& record);

/// When the months of a record begin.
BillingDay billing_of(const KeyRecord& record);

/// The limits of the record's plan in a table: none if the table does not have it.
TableLimits limits_in(const PlanTable& table, const KeyRecord& record);

/// The tables that count an id.
struct CountingTables {
    std::vector<const PlanTable*> known = {};  ///< with the limits of their plans
    /// Tables whose plans are unknown: the key's own limits are shown.
    std::vector<std::string> found = {};
    bool complete = true;  ///< false: only a part of Redis was searched for tables
};

/// These tables, which must outlive the result.
CountingTables known_tables(const std::vector<PlanTable>& tables);

/// Adds the windows and buckets of these limits, and the windows that are counted. `hash` is that
/// of the quota.
void add_windows(std::vector<WindowUsage>& windows, const TableLimits& of, const redis::Value& hash,
                 Instant now);

/// Writes the member `windows`.
void write_windows(JsonWriter& json, const std::vector<WindowUsage>& windows);

}  // namespace tollgate::management
