// Rates, as the limits of a key's record have them, and durations.

#include "module/quota/rate.hpp"

#include <algorithm>

#include "module/text/duration.hpp"
#include "module/text/parse_error.hpp"
#include "t/fuzz/fuzz_target.hpp"

namespace tollgate::fuzz {

namespace {

void check_rates(std::string_view input) {
    const auto rates = parse_rates(input);
    require(!rates.empty() && rates.size() <= kMaxRates);
    std::string text;
    for (const Rate& rate : rates) {
        text += (text.empty() ? "" : " ") + format_rate(rate);
        require(!period_name(rate.period).empty());
    }
    require(parse_rates(text) == rates);
    require(std::ranges::is_sorted(rates, {}, &Rate::period));
}

}  // namespace

void check(std::string_view input) {
    try {
        check_rates(input);
    } catch (const ParseError&) {
    }
    try {
        require(parse_duration(input) >= std::chrono::milliseconds(0));
    } catch (const ParseError&) {
    }
}

}  // namespace tollgate::fuzz
