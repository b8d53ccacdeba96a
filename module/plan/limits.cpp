#include "module/plan/limits.hpp"

#include <algorithm>

#include "module/text/parse_error.hpp"
#include "module/text/whole_number.hpp"

namespace tollgate {

namespace {

constexpr std::string_view kInFlight = "in_flight=";
constexpr std::string_view kUnlimited = "unlimited";
constexpr std::string_view kOver = "over=";
constexpr std::string_view kAllowsOver = "over=allow";

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

bool take_over_parameter(std::vector<std::string_view>& words) {
    if (words.empty() || !words.back().starts_with(kOver)) {
        return false;
    }
    if (words.back() != kAllowsOver) {
        throw ParseError("invalid parameter " + in_quotes(words.back()));
    }
    words.pop_back();
    return true;
}

void require_windows(std::span<const Rate> rates) {
    require_no_balance(rates, "has no " + in_quotes(kAllowsOver));
    if (const auto bucket = std::ranges::find_if(rates, &Rate::is_bucket); bucket != rates.end()) {
        throw ParseError(in_quotes(format_rate(*bucket)) + " has no " + in_quotes(kAllowsOver));
    }
}

Limits parse_limits(std::span<const std::string_view> words) {
    std::vector<std::string_view> rates(words.begin(), words.end());
    Limits limits{.rates = {}, .allows_over = take_over_parameter(rates)};
    limits.in_flight = take_in_flight(rates);
    if (rates.size() != 1 || rates.front() != kUnlimited || limits.allows_over) {
        limits.rates = parse_rates(rates);
    }
    if (limits.allows_over) {
        require_windows(limits.rates);
    }
    return limits;
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
    if (limits.allows_over) {
        text.append(" ").append(kAllowsOver);
    }
    return text;
}

}  // namespace tollgate
