#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "module/plan/window.hpp"
#include "module/redis/protocol/value.hpp"

namespace tollgate::management {

/// One window in the hash of a quota.
struct StoredWindow {
    WindowCount counted;
    bool sliding = false;
};

/// The windows of one quota that end, by period.
using StoredWindows = std::map<Period, StoredWindow>;

/// The buckets of one quota, by the period of their rates: see bucket.hpp. Their rates are not
/// known.
using StoredBuckets = std::map<Period, WindowCount>;

/// A balance in the hash of a quota.
struct StoredBalance {
    std::int64_t left = 0;      ///< below 0 if requests have used more than they took
    std::int64_t credited = 0;  ///< the sum of all credits
};

/// Parses the number of a field of a balance: from -Units::kMost to Units::kMost. nullopt for
/// another text.
std::optional<std::int64_t> parse_balance(std::string_view text);

/// Parses the balance in the reply to HGETALL of a quota's hash; empty if it has none. A value is 0
/// if it is no number.
std::optional<StoredBalance> read_balance(const redis::Value& hash);

/// Parses the reply to HGETALL of a quota's hash. Its fields have names such as `60.count`. Skips
/// fields with other names. A value is 0 if it is not a number from 0 to the latest window, or to
/// the largest count: see kLatestInstant and Units::kMost. A month begins on the billing day of the
/// id or group.
StoredWindows read_windows(const redis::Value& hash, const BillingDay& billing);

/// The name of a field from its parts: see redis::window_field and redis::history_field.
std::string joined(const std::array<std::string_view, 3>& parts);

/// The name of a field of a quota's hash, for the window of a UTC day. `part`: see window_part.
std::string field_of_day(std::string_view part);

/// A lease as the hash of a quota has it: see lease_field.
struct StoredLease {
    Instant at;              ///< when a node got it
    std::int64_t units = 0;  ///< that its call has added to each window of that time
};

/// Parses the last lease of each of the last two nodes that got one, in the reply to HGETALL of a
/// quota's hash. Those that were taken back or recalled since are left out: no node holds them.
std::vector<StoredLease> read_leases(const redis::Value& hash);

/// Parses the buckets in the reply to HGETALL of a quota's hash. Their fields have names such as
/// `1.debt`. Skips fields with other names. A value is 0 if it is not a number up to the latest
/// time, or up to kMostDebt.
StoredBuckets read_buckets(const redis::Value& hash);

}  // namespace tollgate::management
