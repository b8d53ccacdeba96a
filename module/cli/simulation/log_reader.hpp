#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "module/cli/simulation/log_line.hpp"

namespace tollgate::cli {

/// A line that could not be read.
struct UnreadableLine {
    std::string log;  ///< the path
    std::size_t line = 0;
    std::string reason;
};

/// What was read.
struct LinesRead {
    /// At most this many lines that could not be read are named.
    static constexpr std::size_t kNamed = 10;

    std::int64_t lines = 0;
    std::int64_t unreadable = 0;
    std::vector<UnreadableLine> first_unreadable;  ///< of each log in turn
};

/// Reads access logs: rotated ones in any order, and those of several nodes. Logs of the same time
/// are merged by time, so that only as many lines are out of order as in one log. Calls `use` with
/// each request. Throws Failure.
LinesRead read_logs(const std::vector<std::string>& paths, const LogFields& fields,
                    const std::function<void(const LoggedRequest&)>& use);

}  // namespace tollgate::cli
