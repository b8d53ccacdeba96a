#pragma once

#include <cstdint>

#include "module/cli/redis/redis_session.hpp"

namespace tollgate::cli {

/// Warns of the dangers of all masters (dangers_in), and of a master that skips a part of its
/// append-only file (check_replay). Silent where the user may not call INFO or ACL DRYRUN. A
/// failure is a warning too, because the command itself has succeeded.
void warn_of_dangers(RedisSession& session);

/// What a prefix that is probably mistyped is for a command.
enum class WrongPrefix : std::uint8_t {
    kWarning,
    kFailure,  ///< what the command makes would be of no use
};

/// Warns, or throws Failure with ExitStatus::kUsage, if gateways have published plan tables in this
/// Redis, but none with the prefix of the session. Searches up to 10,000 keys of each master.
/// Silent if the user may not search, and if Redis fails: the command fails as well then.
void check_prefix(RedisSession& session, WrongPrefix wrong);

}  // namespace tollgate::cli
