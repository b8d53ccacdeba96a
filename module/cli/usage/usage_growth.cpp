#include "module/cli/usage/usage_growth.hpp"

#include <algorithm>

namespace tollgate::cli {

Growth growth(const StoredWindows& before, const StoredWindows& after) {
    Growth least{.units = 0, .exact = true};
    auto stored = after.rbegin();
    while (stored != after.rend()) {
        const auto& [period, window] = *stored++;
        const auto earlier = before.find(period);
        if (earlier == before.end()) {
            continue;  // of a plan that the key has only now
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
        // Of a window that was set back nothing is known: Redis's clock, or its data, is another.
        if (now.number > then.number) {
            least.units = std::max(least.units, now.count);
        }
        least.exact = false;
    }
    return least;
}

std::int64_t counted_at_all(const StoredWindows& windows) {
    std::int64_t units = 0;
    for (const auto& [period, window] : windows) {
        units = std::max(units, window.counted.count);
    }
    return units;
}

double average_rate(const StoredWindows& windows, Instant now) {
    for (const auto& [period, window] : windows) {
        const std::chrono::seconds length(period);
        if (window.counted.number == window_number(now, length)) {
            const auto elapsed = now - window_end(window.counted.number - 1, length);
            const double seconds = std::chrono::duration<double>(elapsed).count();
            return static_cast<double>(window.counted.count) / std::max(seconds, 1.0);
        }
    }
    return 0;
}

std::optional<StoredBan> stored_ban(const RedisReply& hash) {
    if (hash.elements.empty()) {
        return std::nullopt;
    }
    auto fields = hash.fields();
    return StoredBan{.strikes = stored_number(fields["strikes"]),
                     .since = stored_number(fields["since"]),
                     .level = stored_number(fields["level"]),
                     .until = stored_number(fields["until"])};
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
