#include "module/management/stored_windows.hpp"

#include "module/redis/protocol/schema.hpp"

namespace tollgate::management {

namespace {

/// Whether the window can be converted to a time. Another program may have written a number that
/// would overflow.
bool is_plausible(const StoredWindow& window, Period period) {
    constexpr Instant kLatest(std::chrono::seconds(100'000'000'000));
    return window.counted.number >= 0 && window.counted.number <= window_number(kLatest, period);
}

}  // namespace

StoredWindows read_windows(const redis::Value& hash) {
    StoredWindows windows;
    for (const auto& [field, text] : hash.fields()) {
        const auto value = redis::number_or_zero(text);
        const auto dot = field.find('.');
        const auto period = parse_stored_period(field.substr(0, dot));
        if (dot == std::string_view::npos || !period) {
            continue;
        }
        const auto part = field.substr(dot + 1);
        StoredWindow& window = windows[*period];
        if (part == redis::window_part::kNumber) {
            window.counted.number = value;
        } else if (part == redis::window_part::kCount) {
            window.counted.count = value;
        } else if (part == redis::window_part::kPrevious) {
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

}  // namespace tollgate::management
