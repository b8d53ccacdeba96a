#include "module/management/usage_history.hpp"

#include "module/text/rfc3339.hpp"

namespace tollgate::management {

namespace {

/// The length of a date of RFC 3339.
constexpr std::size_t kDate = 10;

}  // namespace

std::optional<std::chrono::sys_days> parse_day(std::string_view text) {
    const auto time = text.size() == kDate ? parse_rfc3339(text) : std::nullopt;
    return time ? std::optional(std::chrono::floor<std::chrono::days>(*time)) : std::nullopt;
}

std::string format_day(std::chrono::sys_days day) {
    return format_time(day).substr(0, kDate);
}

void write_history(JsonWriter& json, const std::string& id, const UsageHistory& history) {
    json.member("id", id);
    json.array("days", [&] {
        for (const auto& day : history) {
            json.object([&] {
                json.member("day", format_day(day.day));
                json.member("table", day.table);
                json.member("units", day.units);
            });
        }
    });
}

}  // namespace tollgate::management
