#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "module/cli/redis_session.hpp"
#include "module/redis/keys.hpp"

namespace tollgate::cli {

/// What was counted for an id in one window of one plan table.
struct WindowUsage {
    std::string table;
    std::chrono::seconds period;
    std::int64_t count = 0;                ///< in the window that is running now
    std::optional<std::int64_t> previous;  ///< in the one before, where the windows slide
    std::chrono::sys_seconds reset;        ///< when the window ends
};

/// Reads what is counted for an id, by table and period. Throws Failure.
std::vector<WindowUsage> read_usage(RedisSession& session, const redis::Keys& keys,
                                    std::string_view id);

}  // namespace tollgate::cli
