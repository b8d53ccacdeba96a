#pragma once

#include <hiredis/hiredis.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "module/core/plan.hpp"
#include "module/core/quota_choice.hpp"
#include "module/core/window.hpp"
#include "module/redis/keys.hpp"

namespace tollgate::redis {

/// A request to be decided over all its tables at once.
struct Acquire {
    std::string id;
    std::vector<TableQuota> quotas;  ///< at least one
    std::int64_t cost = 1;           ///< 0 shows the quota and takes nothing
    std::optional<BanPolicy> ban;    ///< where set, a ban of the key counts
    bool strikes = true;             ///< whether a refusal is a strike towards a ban
};

/// What the script decided.
struct Acquired {
    enum class Outcome { kGranted, kLimited, kBanned };
    Outcome outcome;
    Instant now;                       ///< Redis's clock
    Instant banned_until;              ///< when banned
    std::vector<WindowState> windows;  ///< in the order of the tables and of their rates
};

/// The EVALSHA that decides `acquire`; see kAcquireScript for its arguments.
std::vector<std::string> acquire_command(const Acquire& acquire, const Keys& keys,
                                         std::string sha1);

/// Turns an EVALSHA into the EVAL that also loads the script, for a Redis that answered NOSCRIPT.
void evaluate_in_full(std::vector<std::string>& command);

/// Reads the script's reply; nothing where it isn't one (an error, a wrong shape).
std::optional<Acquired> read_acquired(const redisReply& reply, const Acquire& acquire);

}  // namespace tollgate::redis
