#include "module/cli/key_usage.hpp"

#include <limits>
#include <map>
#include <set>

namespace tollgate::cli {

namespace {

struct Window {
    std::int64_t number = 0;
    std::int64_t count = 0;
    std::optional<std::int64_t> previous;
};

/// A text that stands for itself in a glob pattern of Redis.
std::string glob_literal(std::string_view text) {
    std::string pattern;
    for (const char c : text) {
        if (std::string_view("*?[]\\^-").find(c) != std::string_view::npos) {
            pattern += '\\';
        }
        pattern += c;
    }
    return pattern;
}

/// The Redis keys that begin so. SCAN may name one twice.
std::set<std::string> keys_that_begin_with(RedisSession& session, const std::string& prefix) {
    std::set<std::string> found;
    std::string cursor = "0";
    do {
        const auto page =
            session.run({"SCAN", cursor, "MATCH", glob_literal(prefix) + "*", "COUNT", "1000"});
        for (const auto& key : page.elements.at(1).elements) {
            found.insert(key.text);
        }
        cursor = page.elements.at(0).text;
    } while (cursor != "0");
    return found;
}

/// The windows of a quota's hash by their period in seconds, from fields such as `60.count`.
std::map<std::int64_t, Window> windows_of(const RedisReply& hash) {
    std::map<std::int64_t, Window> windows;
    for (const auto& [field, text] : hash.fields()) {
        const auto value = stored_number(text);
        const auto dot = field.find('.');
        const auto period = stored_number(field.substr(0, dot));
        if (dot == std::string_view::npos || period < 1 ||
            period > std::numeric_limits<std::int32_t>::max()) {
            continue;
        }
        const auto part = field.substr(dot + 1);
        Window& window = windows[period];
        if (part == "number") {
            window.number = value;
        } else if (part == "count") {
            window.count = value;
        } else if (part == "previous") {
            window.previous = value;
        }
    }
    return windows;
}

/// What stands in Redis was counted in the window `number`; what it says about the window that runs
/// now.
WindowUsage usage_now(std::string_view table, std::int64_t period, Window window,
                      std::int64_t now) {
    auto running = now / period;
    if (window.number == running + 1) {
        running = window.number;  // as the gateway has it after the clock was set back a little
    }
    if (window.number != running) {
        if (window.previous) {
            window.previous = window.number == running - 1 ? window.count : 0;
        }
        window.count = 0;
    }
    return {.table = std::string(table),
            .period = std::chrono::seconds(period),
            .count = window.count,
            .previous = window.previous,
            .reset = std::chrono::sys_seconds(std::chrono::seconds((running + 1) * period))};
}

}  // namespace

std::vector<WindowUsage> read_usage(RedisSession& session, const redis::Keys& keys,
                                    std::string_view id) {
    std::vector<WindowUsage> usage;
    const auto prefix = keys.quota(id, "");
    const auto names = keys_that_begin_with(session, prefix);
    const auto now = stored_number(session.run({"TIME"}).elements.at(0).text);
    for (const auto& name : names) {
        for (const auto& [period, window] : windows_of(session.run({"HGETALL", name}))) {
            usage.push_back(
                usage_now(std::string_view(name).substr(prefix.size()), period, window, now));
        }
    }
    return usage;
}

}  // namespace tollgate::cli
