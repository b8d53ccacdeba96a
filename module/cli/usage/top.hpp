#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "module/cli/redis/redis_session.hpp"
#include "module/cli/terminal/output.hpp"
#include "module/redis/protocol/keys.hpp"

namespace tollgate::cli {

/// What `tollgate top` was asked for.
struct TopOptions {
    std::string interval = "2s";
    std::uint64_t count = 0;  ///< how often to print; 0: without end
    std::size_t limit = 20;   ///< rows
    std::string sort = "requests";
    std::size_t budget = 5000;  ///< see QuotaWatch
};

/// Prints who is busy, again and again: in place on a terminal, where `q` ends it, line after
/// line elsewhere. Throws Failure.
void run_top(RedisSession& session, const redis::Keys& keys, Format format,
             const TopOptions& options);

}  // namespace tollgate::cli
