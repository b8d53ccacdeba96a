#include "module/plan/limits.hpp"

#include <algorithm>

#include "module/text/parse_error.hpp"
#include "module/text/whole_number.hpp"

namespace tollgate {

namespace {

constexpr std::string_view kInFlight = "in_flight=";
constexpr std::string_view kUnlimited = "unlimited";

}  // namespace

std::int64_t take_in_flight(std::vector<std::string_view>& words) {
    std::int64_t in_flight = 0;
    for (const auto word : words) {
        if (!word.starts_with(kInFlight)) {
            continue;
        }
        const auto number = parse_whole_number(word.substr(kInFlight.size()), 1, kMostInFlight);
        if (!number || in_flight != 0) {
            throw ParseError((number ? "duplicate parameter " : "invalid parameter ") +
                             in_quotes(word));
        }
        in_flight = *number;
    }
    std::erase_if(words, [](std::string_view word) { return word.starts_with(kInFlight); });
    return in_flight;
}

Limits parse_limits(std::span<const std::string_view> words) {
    std::vector<std::string_view> rates(words.begin(), words.end());
    const std::int64_t in_flight = take_in_flight(rates);
    if (rates.size() == 1 && rates.front() == kUnlimited) {
        return {.rates = {}, .in_flight = in_flight};
    }
    return {.rates = parse_rates(rates), .in_flight = in_flight};
}

Limits parse_limits(std::string_view text) {
    return parse_limits(words_of(text));
}

std::string format_limits(const Limits& limits) {
    std::string text(limits.rates.empty() ? kUnlimited : "");
    for (const Rate& rate : limits.rates) {
        text.append(text.empty() ? "" : " ").append(format_rate(rate));
    }
    if (limits.in_flight != 0) {
        text.append(" ").append(kInFlight);
        text += std::to_string(limits.in_flight);
    }
    return text;
}

}  // namespace tollgate
