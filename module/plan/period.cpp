#include "module/plan/period.hpp"

#include <algorithm>
#include <array>

#include "module/text/whole_number.hpp"

namespace tollgate {

using namespace std::chrono_literals;

namespace {

struct Unit {
    char letter;
    std::string_view name;
    std::chrono::seconds length;
};

constexpr std::array<Unit, 4> kUnits{{
    {'d', "day", 24h},
    {'h', "hour", 1h},
    {'m', "minute", 1min},
    {'s', "second", 1s},
}};

/// A month has no multiples: two months have no boundary that everybody expects.
constexpr std::string_view kMonthName = "month";

/// The name of a period that is no number of seconds; empty for others.
std::string_view own_name(Period period) {
    return period.is_month() ? kMonthName : period.is_balance() ? kBalanceName : std::string_view();
}

/// The largest unit that divides the period, which has no name of its own.
const Unit& unit_of(Period period) {
    return *std::find_if(kUnits.begin(), kUnits.end(),
                         [&](const Unit& unit) { return period.length() % unit.length == 0s; });
}

std::int64_t multiple_of(const Unit& unit, Period period) {
    return period.length() / unit.length;
}

}  // namespace

std::optional<Period> parse_period(std::string_view text) {
    if (text == kMonthName) {
        return Period::month();
    }
    const auto unit =
        text.empty() ? kUnits.end() : std::ranges::find(kUnits, text.back(), &Unit::letter);
    if (unit == kUnits.end()) {
        return std::nullopt;
    }
    text.remove_suffix(1);
    const auto times =
        text.empty() ? 1 : parse_whole_number(text, 1, Period::kLongest / unit->length);
    return times ? std::optional(Period(*times * unit->length)) : std::nullopt;
}

std::string format_period(Period period) {
    if (const auto name = own_name(period); !name.empty()) {
        return std::string(name);
    }
    const Unit& unit = unit_of(period);
    const auto times = multiple_of(unit, period);
    return (times == 1 ? "" : std::to_string(times)) + unit.letter;
}

std::string period_name(Period period) {
    if (const auto name = own_name(period); !name.empty()) {
        return std::string(name);
    }
    const Unit& unit = unit_of(period);
    const auto times = multiple_of(unit, period);
    if (times == 1) {
        return std::string(unit.name);
    }
    return std::to_string(times) + "-" + std::string(unit.name) + "s";
}

std::string stored_period(Period period) {
    const auto name = own_name(period);
    return name.empty() ? std::to_string(period.length().count()) : std::string(name);
}

std::optional<Period> parse_stored_period(std::string_view text) {
    if (text == kMonthName) {
        return Period::month();
    }
    if (text == kBalanceName) {
        return Period::balance();
    }
    const auto seconds = parse_whole_number(text, 1, Period::kLongest.count());
    return seconds ? std::optional(Period(std::chrono::seconds(*seconds))) : std::nullopt;
}

}  // namespace tollgate
