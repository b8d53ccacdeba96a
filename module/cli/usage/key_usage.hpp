#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "module/cli/redis/redis_session.hpp"
#include "module/management/ban.hpp"
#include "module/management/stored_key.hpp"
#include "module/quota/plan.hpp"
#include "module/redis/protocol/schema.hpp"

namespace tollgate::cli {

/// The usage of an id in one window of one plan table. Counts are in units of quota.
struct WindowUsage {
    std::string table;
    Period period;
    std::int64_t count = 0;                ///< counted in the current window
    std::optional<std::int64_t> previous;  ///< counted in the previous window, if windows slide
    std::int64_t used = 0;                 ///< the part of the limit that is used now
    std::optional<std::int64_t> limit;     ///< empty: unknown
    std::chrono::sys_seconds reset;        ///< end of the current window
};

/// The usage of an id in all plan tables.
struct KeyUsage {
    management::KeysOfId keys;
    std::chrono::sys_seconds now;  ///< by Redis's clock
    std::vector<WindowUsage> windows;
    management::KeyBan ban;
    bool complete = true;  ///< false: only a part of Redis was searched for counts
};

/// Reads the usage of an id by table and period, with the limits of its plan in `tables`. The
/// windows of the plan without a count are included. If `tables` is empty, the function scans about
/// 100,000 keys of Redis for counts, and takes the limits from the key's record, where they apply
/// to `custom` plans. Throws Failure.
KeyUsage read_usage(RedisSession& session, management::Database& database, const redis::Keys& keys,
                    const std::string& id, const std::vector<PlanTable>& tables);

}  // namespace tollgate::cli
