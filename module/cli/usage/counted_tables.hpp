#pragma once

#include <string>

#include "module/cli/redis/redis_session.hpp"
#include "module/management/key_usage.hpp"

namespace tollgate::cli {

/// Searches Redis for the tables that have counts for an id: no gateway has published its tables.
/// Scans about 100,000 keys. Throws Failure.
management::CountingTables search_tables(RedisSession& session, const redis::Keys& keys,
                                         const std::string& id);

}  // namespace tollgate::cli
