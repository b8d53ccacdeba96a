#include "module/cli/terminal/time_text.hpp"

#include <array>
#include <utility>

#include "module/cli/failure.hpp"
#include "module/text/duration.hpp"
#include "module/text/parse_error.hpp"
#include "module/text/rfc3339.hpp"

namespace tollgate::cli {

using namespace std::chrono_literals;

namespace {

constexpr std::string_view kDigits = "0123456789";

/// Whether it has a hyphen that is not the sign of a number.
bool looks_like_date(std::string_view text) {
    return text.find('-', 1) != std::string_view::npos;
}

}  // namespace

std::chrono::sys_seconds parse_time(std::string_view text, std::chrono::sys_seconds now) {
    const auto time =
        looks_like_date(text) ? parse_rfc3339(text) : now + parse_duration_seconds(text);
    if (!time) {
        throw Failure(ExitStatus::kUsage, "invalid time \"" + std::string(text) +
                                              "\": use 2027-01-01T00:00:00Z, 2027-01-01 or 90d");
    }
    return *time;
}

std::chrono::seconds parse_duration_seconds(std::string_view text) {
    // Require a unit: a user who writes 24 for 24 hours must not end a key after 24 seconds.
    if (text != "0" && text.find_first_not_of(kDigits) == std::string_view::npos) {
        throw Failure(ExitStatus::kUsage,
                      "invalid time \"" + std::string(text) + "\": add a unit, as in 24h or 90d");
    }
    try {
        return std::chrono::ceil<std::chrono::seconds>(parse_duration(text));
    } catch (const ParseError& error) {
        throw Failure(ExitStatus::kUsage,
                      std::string(error.what()) + ": use 24h or 90d, at most 100 years");
    }
}

std::string format_duration(std::chrono::seconds duration) {
    constexpr std::array<std::pair<std::chrono::seconds, char>, 4> kParts{
        {{24h, 'd'}, {1h, 'h'}, {1min, 'm'}, {1s, 's'}}};
    std::string text;
    std::size_t units = 0;
    for (const auto& [length, unit] : kParts) {
        const auto count = duration / length;
        duration %= length;
        if ((count > 0 || units == 1) && units < 2) {
            ++units;
            if (count > 0) {
                text.append(text.empty() ? "" : " ").append(std::to_string(count)) += unit;
            }
        }
    }
    return text.empty() ? "0s" : text;
}

}  // namespace tollgate::cli
