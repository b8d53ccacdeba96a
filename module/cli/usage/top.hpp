#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "module/cli/redis/redis_session.hpp"
#include "module/cli/terminal/output.hpp"
#include "module/redis/protocol/schema.hpp"

namespace tollgate::cli {

/// The options of `tollgate top`. The initial values are the defaults.
struct TopOptions {
    std::string interval = "2s";    ///< between two readings, 100ms to 1h
    std::uint64_t count = 0;        ///< number of refreshes; 0: no limit
    std::size_t limit = 20;         ///< maximum number of rows
    std::string sort = "requests";  ///< `requests` or `refusals`
    std::size_t budget = 5000;      ///< maximum number of watched ids, see QuotaWatch
};

/// Prints the busiest ids after every interval. On a terminal each refresh overwrites the previous
/// one, and the key `q` ends the function. Throws Failure.
void run_top(RedisSession& session, const redis::Keys& keys, Format format,
             const TopOptions& options);

}  // namespace tollgate::cli
