#include "module/cli/usage/quota_hash.hpp"

#include <limits>

namespace tollgate::cli {

namespace {

/// Something else may have written the number: one that is centuries off would overflow as a time.
bool is_plausible(const StoredWindow& window, std::int64_t period) {
    constexpr std::int64_t kLatest = 100'000'000'000;  // Unix seconds
    return window.counted.number >= 0 && window.counted.number <= kLatest / period;
}

}  // namespace

std::map<std::int64_t, StoredWindow> windows_of(const RedisReply& hash) {
    std::map<std::int64_t, StoredWindow> windows;
    for (const auto& [field, text] : hash.fields()) {
        const auto value = stored_number(text);
        const auto dot = field.find('.');
        const auto period = stored_number(field.substr(0, dot));
        if (dot == std::string_view::npos || period < 1 ||
            period > std::numeric_limits<std::int32_t>::max()) {
            continue;
        }
        const auto part = field.substr(dot + 1);
        StoredWindow& window = windows[period];
        if (part == "number") {
            window.counted.number = value;
        } else if (part == "count") {
            window.counted.count = value;
        } else if (part == "previous") {
            window.counted.previous = value;
            window.sliding = true;
        }
    }
    for (auto& [period, window] : windows) {
        if (!is_plausible(window, period)) {
            window.counted.number = 0;
        }
    }
    return windows;
}

Instant instant_of(const RedisReply& time) {
    const std::chrono::seconds seconds(stored_number(time.elements.at(0).text));
    const std::chrono::microseconds rest(stored_number(time.elements.at(1).text));
    return Instant(seconds + std::chrono::floor<std::chrono::milliseconds>(rest));
}

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

}  // namespace tollgate::cli
