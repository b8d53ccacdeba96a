#include "module/cli/simulation/log_time.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "module/text/rfc3339.hpp"
#include "module/text/whole_number.hpp"

namespace tollgate::cli {

using namespace std::chrono_literals;

namespace {

/// The milliseconds of a fraction of a second: up to three of the digits at the front.
std::chrono::milliseconds fraction_of(std::string_view digits) {
    std::chrono::milliseconds sum = 0ms;
    auto unit = 100ms;
    for (const char c : digits.substr(0, 3)) {
        if (c < '0' || c > '9') {
            break;
        }
        sum += (c - '0') * unit;
        unit /= 10;
    }
    return sum;
}

bool are_digits(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Parses seconds with an optional fraction, at most `most` seconds.
std::optional<LogTime> parse_decimal(std::string_view text, std::chrono::seconds most) {
    const auto point = text.find('.');
    const auto whole = text.substr(0, point);
    const bool has_fraction = point != std::string_view::npos;
    const auto fraction = has_fraction ? text.substr(point + 1) : "0";
    const auto seconds = parse_whole_number(whole, 0, most.count());
    if (!seconds || !are_digits(whole) || !are_digits(fraction)) {
        return std::nullopt;
    }
    return LogTime{Instant(std::chrono::seconds(*seconds) + fraction_of(fraction)), has_fraction};
}

/// `$time_local` as RFC 3339: `23/Nov/2026:10:05:00 +0100` becomes `2026-11-23T10:05:00+01:00`.
/// Empty for another text.
std::string rfc3339_of_local(std::string_view text) {
    constexpr std::string_view kExample = "23/Nov/2026:10:05:00 +0100";
    constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    if (text.size() != kExample.size() || text[2] != '/' || text[6] != '/' || text[11] != ':' ||
        text[20] != ' ') {
        return {};
    }
    const auto* const month = std::ranges::find(kMonths, text.substr(3, 3));
    if (month == kMonths.end()) {
        return {};
    }
    const auto number = std::to_string(month - kMonths.begin() + 1);
    std::string time(text.substr(7, 4));
    time.append(number.size() == 1 ? "-0" : "-").append(number);
    time.append("-").append(text.substr(0, 2)).append("T").append(text.substr(12, 8));
    return time.append(text.substr(21, 3)).append(":").append(text.substr(24));
}

}  // namespace

std::optional<std::chrono::milliseconds> parse_log_seconds(std::string_view text) {
    const auto time = parse_decimal(text, std::chrono::years(10));
    return time ? std::optional(time->at.time_since_epoch()) : std::nullopt;
}

std::optional<LogTime> parse_log_time(std::string_view text) {
    // Up to the year 9999, as RFC 3339.
    if (const auto unix_time = parse_decimal(text, 253'402'300'799s)) {
        return unix_time;
    }
    const std::string local = rfc3339_of_local(text);
    const auto time = parse_rfc3339(local.empty() ? text : local);
    if (!time) {
        return std::nullopt;
    }
    const auto point = text.find('.');
    const bool has_fraction = point != std::string_view::npos;
    return LogTime{*time + (has_fraction ? fraction_of(text.substr(point + 1)) : 0ms),
                   has_fraction};
}

}  // namespace tollgate::cli
