#include "module/cli/usage/stored_usage.hpp"

#include <algorithm>

#include "module/redis/protocol/schema.hpp"

namespace tollgate::cli {

GrantedUnits granted_between(const management::StoredWindows& before,
                             const management::StoredWindows& after) {
    GrantedUnits least{.units = 0, .exact = true};
    auto stored = after.rbegin();
    while (stored != after.rend()) {
        const auto& [period, window] = *stored++;
        const auto earlier = before.find(period);
        if (earlier == before.end()) {
            continue;  // the plan of the key has changed
        }
        const WindowCount& now = window.counted;
        const WindowCount& then = earlier->second.counted;
        if (now.number == then.number) {
            return {.units = std::max<std::int64_t>(now.count - then.count, 0), .exact = true};
        }
        if (window.sliding && now.number == then.number + 1) {
            return {.units = now.count + std::max<std::int64_t>(now.previous - then.count, 0),
                    .exact = true};
        }
        // A window with a lower number gives no information: Redis's clock or data was changed.
        if (now.number > then.number) {
            least.units = std::max(least.units, now.count);
        }
        least.exact = false;
    }
    return least;
}

std::int64_t largest_count(const management::StoredWindows& windows) {
    std::int64_t units = 0;
    for (const auto& [period, window] : windows) {
        units = std::max(units, window.counted.count);
    }
    return units;
}

double average_rate(const management::StoredWindows& windows, Instant now) {
    for (const auto& [period, window] : windows) {
        if (window.counted.number == window_number(now, period)) {
            const auto elapsed = now - window_end(window.counted.number - 1, period);
            const double seconds = std::chrono::duration<double>(elapsed).count();
            return static_cast<double>(window.counted.count) / std::max(seconds, 1.0);
        }
    }
    return 0;
}

std::optional<StoredBan> read_stored_ban(const redis::Value& hash) {
    if (hash.elements.empty()) {
        return std::nullopt;
    }
    auto fields = hash.fields();
    return StoredBan{.strikes = redis::number_or_zero(fields[redis::ban_field::kStrikes]),
                     .since = redis::number_or_zero(fields[redis::ban_field::kSince]),
                     .level = redis::number_or_zero(fields[redis::ban_field::kLevel]),
                     .until = redis::number_or_zero(fields[redis::ban_field::kUntil])};
}

std::int64_t strikes_between(const std::optional<StoredBan>& before, const StoredBan& after) {
    if (!before) {
        return std::max<std::int64_t>(after.strikes, after.level > 0 ? 1 : 0);
    }
    if (after.level > before->level) {
        return std::max<std::int64_t>(after.strikes, 1);
    }
    const auto known = after.since == before->since ? before->strikes : 0;
    return std::max<std::int64_t>(after.strikes - known, 0);
}

}  // namespace tollgate::cli
