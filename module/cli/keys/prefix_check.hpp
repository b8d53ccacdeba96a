#pragma once

#include <string>

#include "module/cli/redis/redis_session.hpp"

namespace tollgate::cli {

/// Warns if gateways have published plan tables in this Redis, but none with this prefix: it may be
/// mistyped. Searches up to 10,000 keys of each master. Silent if the user may not search, and if
/// Redis fails: the command fails as well then.
void warn_of_prefix(RedisSession& session, const std::string& prefix);

}  // namespace tollgate::cli
