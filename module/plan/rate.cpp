#include "module/plan/rate.hpp"

#include <algorithm>
#include <array>

#include "module/text/parse_error.hpp"
#include "module/text/whole_number.hpp"
#include "module/text/words.hpp"

namespace tollgate {

namespace {

constexpr std::string_view kBurst = "burst=";

/// The unit of a rate that is meant by a period such as `min`, `seconds` or `2month`; empty: none.
std::string_view short_unit(std::string_view period) {
    period.remove_suffix(period.ends_with('s') ? 1 : 0);
    if (period.ends_with("month")) {
        return "month";
    }
    constexpr std::array<std::string_view, 6> kLongUnits{"sec",    "second", "min",
                                                         "minute", "hour",   "day"};
    const bool is_known = std::ranges::find(kLongUnits, period) != kLongUnits.end();
    return is_known ? period.substr(0, 1) : std::string_view();
}

/// Makes a bucket of the last rate.
void set_burst(std::vector<Rate>& rates, std::string_view word) {
    if (rates.empty()) {
        throw ParseError(in_quotes(word) + " follows no rate");
    }
    Rate& rate = rates.back();
    if (rate.is_bucket()) {
        throw ParseError("duplicate parameter " + in_quotes(word));
    }
    if (rate.period.is_month() || rate.is_balance()) {
        throw ParseError(in_quotes(format_rate(rate)) + " has no burst" +
                         (rate.is_balance() ? "" : ": months have different lengths"));
    }
    const std::int64_t most = most_burst(rate.period);
    const auto burst = parse_whole_number(word.substr(kBurst.size()), 1, most);
    if (!burst) {
        throw ParseError("invalid parameter " + in_quotes(word) + ": a burst of " +
                         in_quotes(format_rate(rate)) + " is a number from 1 to " +
                         std::to_string(most));
    }
    rate.burst = *burst;
}

}  // namespace

Rate parse_rate(std::string_view text) {
    constexpr std::string_view kPer = "r/";
    const auto per = std::min(text.find(kPer), text.size());
    const auto requests = parse_whole_number(text.substr(0, per), 1, kMostRequests);
    const auto period_text = text.substr(std::min(per + kPer.size(), text.size()));
    const auto period = parse_period(period_text);
    if (!requests || !period) {
        const auto unit = short_unit(period_text);
        throw ParseError("invalid rate " + in_quotes(text) +
                         (unit.empty() ? "" : ": use " + in_quotes("r/" + std::string(unit))));
    }
    return {*requests, *period};
}

std::vector<Rate> parse_rates(std::span<const std::string_view> words) {
    const auto is_burst = [](std::string_view word) { return word.starts_with(kBurst); };
    const auto bursts = static_cast<std::size_t>(std::ranges::count_if(words, is_burst));
    if (words.empty() || words.size() - bursts > kMaxRates) {
        throw ParseError("a plan has one to four rates");
    }
    std::vector<Rate> rates;
    rates.reserve(words.size());
    for (const auto word : words) {
        if (is_burst(word)) {
            set_burst(rates, word);
        } else {
            rates.push_back(word == kBalanceName ? Rate::balance() : parse_rate(word));
        }
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

std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> words;
    for (auto word = next_word(text); !word.empty(); word = next_word(text)) {
        words.push_back(word);
    }
    return words;
}

void require_sliding(std::span<const Rate> rates) {
    const auto month =
        std::ranges::find_if(rates, [](const Rate& rate) { return rate.period.is_month(); });
    if (month != rates.end()) {
        throw ParseError("\"" + format_rate(*month) +
                         "\" cannot slide: a month has a fixed window");
    }
    require_no_balance(rates, "cannot slide: it never ends");
}

bool has_balance(std::span<const Rate> rates) {
    return std::ranges::any_of(rates, &Rate::is_balance);
}

void begin_months(std::vector<Rate>& rates, const BillingDay& billing) {
    for (Rate& rate : rates) {
        if (rate.period.is_month()) {
            rate.period = Period::month(billing);
        }
    }
}

void require_no_balance(std::span<const Rate> rates, std::string_view reason) {
    if (has_balance(rates)) {
        throw ParseError(in_quotes(kBalanceName) + " " + std::string(reason));
    }
}

std::string format_rate(const Rate& rate) {
    if (rate.is_balance()) {
        return format_period(rate.period);
    }
    return std::to_string(rate.requests) + "r/" + format_period(rate.period) +
           (rate.is_bucket() ? " " + std::string(kBurst) + std::to_string(rate.burst) : "");
}

}  // namespace tollgate
