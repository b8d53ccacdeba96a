#include "module/quota/rate.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "module/text/parse_error.hpp"

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

constexpr std::int64_t kMostRequests = 1'000'000'000'000;
constexpr std::chrono::seconds kLongestPeriod = 366 * 24h;

/// The largest unit that divides the period.
const Unit& unit_of(std::chrono::seconds period) {
    return *std::find_if(kUnits.begin(), kUnits.end(),
                         [&](const Unit& unit) { return period % unit.length == 0s; });
}

/// Removes a whole number from 1 to `most` from the front of `text`. Returns 0 if there is none.
std::int64_t take_number(std::string_view& text, std::int64_t most) {
    std::int64_t number = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || number < 1 || number > most) {
        return 0;
    }
    text.remove_prefix(rest - text.data());
    return number;
}

}  // namespace

Rate parse_rate(std::string_view text) {
    std::string_view rest = text;
    const auto requests = take_number(rest, kMostRequests);
    if (requests != 0 && rest.starts_with("r/") && rest.size() > 2) {
        rest.remove_prefix(2);
        const bool multiple = rest.front() >= '0' && rest.front() <= '9';
        const auto times = multiple ? take_number(rest, kLongestPeriod.count()) : 1;
        for (const Unit& unit : kUnits) {
            if (times != 0 && rest.size() == 1 && rest.front() == unit.letter &&
                times <= kLongestPeriod / unit.length) {
                return {requests, times * unit.length};
            }
        }
    }
    throw ParseError("invalid rate \"" + std::string(text) + "\"");
}

std::vector<Rate> parse_rates(std::span<const std::string_view> words) {
    if (words.empty() || words.size() > kMaxRates) {
        throw ParseError("a plan has one to four rates");
    }
    std::vector<Rate> rates;
    rates.reserve(words.size());
    for (const auto word : words) {
        rates.push_back(parse_rate(word));
    }
    std::ranges::sort(rates, {}, &Rate::period);
    for (std::size_t i = 1; i < rates.size(); ++i) {
        const Rate& shorter = rates[i - 1];
        const Rate& longer = rates[i];
        if (shorter.period == longer.period) {
            throw ParseError("two rates with one period: \"" + format_rate(shorter) + "\" and \"" +
                             format_rate(longer) + "\"");
        }
        if (longer.requests < shorter.requests) {
            throw ParseError("\"" + format_rate(longer) + "\" allows less than the shorter \"" +
                             format_rate(shorter) + "\"");
        }
    }
    return rates;
}

std::vector<Rate> parse_rates(std::string_view text) {
    std::vector<std::string_view> words;
    while (true) {
        text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
        if (text.empty()) {
            return parse_rates(words);
        }
        const auto word = text.substr(0, text.find(' '));
        words.push_back(word);
        text.remove_prefix(word.size());
    }
}

std::string format_rate(const Rate& rate) {
    const Unit& unit = unit_of(rate.period);
    const auto times = rate.period / unit.length;
    return std::to_string(rate.requests) + "r/" + (times == 1 ? "" : std::to_string(times)) +
           unit.letter;
}

std::string period_name(std::chrono::seconds period) {
    const Unit& unit = unit_of(period);
    const auto times = period / unit.length;
    if (times == 1) {
        return std::string(unit.name);
    }
    return std::to_string(times) + "-" + std::string(unit.name) + "s";
}

}  // namespace tollgate
