#include "module/text/duration.hpp"

#include <array>
#include <charconv>
#include <string>
#include <utility>

#include "module/text/parse_error.hpp"

namespace tollgate {

using namespace std::chrono_literals;

namespace {

constexpr std::array<std::pair<std::string_view, std::chrono::milliseconds>, 7> kUnits{{
    {"", 1s},
    {"ms", 1ms},
    {"s", 1s},
    {"m", 1min},
    {"h", 1h},
    {"d", 24h},
    {"w", 168h},
}};

constexpr std::chrono::milliseconds kLongest = std::chrono::years{100};

}  // namespace

std::chrono::milliseconds parse_duration(std::string_view text) {
    std::uint64_t count = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (error == std::errc{}) {
        const std::string_view name(rest, text.data() + text.size() - rest);
        for (const auto& [unit, length] : kUnits) {
            if (name == unit && count <= static_cast<std::uint64_t>(kLongest / length)) {
                return static_cast<std::int64_t>(count) * length;
            }
        }
    }
    throw ParseError("invalid time \"" + std::string(text) + "\"");
}

std::string write_duration(std::chrono::seconds duration) {
    std::pair<std::string_view, std::chrono::milliseconds> largest{"s", 1s};
    for (const auto& unit : kUnits) {
        if (duration != 0s && unit.second > largest.second && duration % unit.second == 0ms) {
            largest = unit;
        }
    }
    return std::to_string(duration / largest.second).append(largest.first);
}

}  // namespace tollgate
