// The limits of a key's record, and durations.

#include "module/plan/bucket.hpp"
#include "module/plan/limits.hpp"

#include <algorithm>

#include "module/text/duration.hpp"
#include "module/text/parse_error.hpp"
#include "t/fuzz/fuzz_target.hpp"

namespace tollgate::fuzz {

namespace {

void check_limits(std::string_view input) {
    const auto limits = parse_limits(input);
    const auto& rates = limits.rates;
    require(rates.size() <= kMaxRates);
    require(limits.in_flight >= 0 && limits.in_flight <= kMostInFlight);
    require(std::ranges::none_of(
        rates, [](const Rate& rate) { return period_name(rate.period).empty(); }));
    require(std::ranges::all_of(rates, [](const Rate& rate) {
        return rate.burst == 0 ||
               (!rate.period.is_month() && rate.burst > 0 && rate.burst <= most_burst(rate.period));
    }));
    require(parse_limits(format_limits(limits)) == limits);
    require(std::ranges::is_sorted(rates, {}, &Rate::period));
}

}  // namespace

void check(std::string_view input) {
    try {
        check_limits(input);
    } catch (const ParseError&) {
    }
    try {
        require(parse_duration(input) >= std::chrono::milliseconds(0));
    } catch (const ParseError&) {
    }
}

}  // namespace tollgate::fuzz
