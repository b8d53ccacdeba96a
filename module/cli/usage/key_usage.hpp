#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "module/cli/keys/stored_key.hpp"
#include "module/cli/redis/redis_session.hpp"
#include "module/cli/usage/stored_usage.hpp"
#include "module/quota/plan.hpp"
#include "module/redis/protocol/keys.hpp"

namespace tollgate::cli {

/// What was counted for an id in one window of one plan table.
struct WindowUsage {
    std::string table;
    std::chrono::seconds period;
    std::int64_t count = 0;                ///< in the window that is running now
    std::optional<std::int64_t> previous;  ///< in the one before, where the windows slide
    std::int64_t used = 0;                 ///< what of the limit is spent now
    std::optional<std::int64_t> limit;     ///< where it is known
    std::chrono::sys_seconds reset;        ///< when the window ends
};

/// How an id stands with its quotas.
struct KeyUsage {
    KeysOfId keys;
    std::chrono::sys_seconds now;  ///< by Redis's clock
    std::vector<WindowUsage> windows;
    KeyBan ban;
    bool complete = true;  ///< false: only a part of Redis was searched for counts
};

/// Reads what is counted for an id, by table and period, and the limits of its plan in the tables
/// that the gateways have published. Windows of the plan in which nothing is counted are there too.
/// Without tables, some 100,000 keys of Redis at most are searched for counts, and limits are those
/// of the key's own record, which hold where its plan is `custom`. Throws Failure.
KeyUsage read_usage(RedisSession& session, const redis::Keys& keys, std::string_view id,
                    const std::vector<PlanTable>& tables);

}  // namespace tollgate::cli
