#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "module/management/stored_windows.hpp"
#include "module/redis/protocol/value.hpp"

namespace tollgate::cli {

/// The units that were granted between two readings of a quota.
struct GrantedUnits {
    std::int64_t units = 0;
    bool exact = true;  ///< false: a lower bound, because a window ended between the readings
};

/// Computes the units that were granted between two readings of a quota. Uses the longest window
/// whose count is known in both readings. If there is none, the result is the largest count of the
/// windows that began in between. Never negative: returned units are ignored.
GrantedUnits granted_between(const management::StoredWindows& before,
                             const management::StoredWindows& after);

/// The largest count of all windows: the units granted so far to a quota that is new.
std::int64_t largest_count(const management::StoredWindows& windows);

/// Units per second granted in the shortest current window, from its beginning until `now`. An
/// estimate for a quota that was read only once.
double average_rate(const management::StoredWindows& windows, Instant now);

/// The hash of an id's ban. Times are Unix times in milliseconds.
struct StoredBan {
    std::int64_t strikes = 0;
    std::int64_t since = 0;  ///< time of the first strike
    std::int64_t level = 0;
    std::int64_t until = 0;  ///< end of the last ban
};

/// Parses the reply to HGETALL of a ban's hash. Empty if the hash does not exist.
std::optional<StoredBan> read_stored_ban(const redis::Value& hash);

/// The strikes between two readings. A ban resets the strikes, so the result counts at least one
/// for each reading with a new ban.
std::int64_t strikes_between(const std::optional<StoredBan>& before, const StoredBan& after);

}  // namespace tollgate::cli
