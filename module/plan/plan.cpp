#include "module/plan/plan.hpp"

#include <algorithm>
#include <limits>

#include "module/key/key_record.hpp"
#include "module/plan/limits.hpp"
#include "module/text/duration.hpp"
#include "module/text/parse_error.hpp"
#include "module/text/whole_number.hpp"

namespace tollgate {

bool is_valid_unit(std::string_view name) {
    const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
    return !name.empty() && name.size() <= kMostUnitLength && is_letter(name.front()) &&
           std::ranges::all_of(
               name, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '-'; });
}

using namespace std::chrono_literals;

namespace {

std::int64_t parse_strikes(std::string_view text) {
    const auto number = parse_whole_number(text, 1, std::numeric_limits<std::int64_t>::max());
    if (!number) {
        throw ParseError("invalid number " + in_quotes(text));
    }
    return *number;
}

}  // namespace

const Plan* PlanTable::find(std::string_view plan) const {
    auto found = std::ranges::find(plans, plan, &Plan::name);
    if (found == plans.end() && !default_plan.empty()) {
        found = std::ranges::find(plans, default_plan, &Plan::name);
    }
    return found == plans.end() ? nullptr : &*found;
}

Plan parse_plan(std::span<const std::string_view> words) {
    if (words.empty() || !is_valid_name(words.front())) {
        throw ParseError("invalid plan name " + in_quotes(words.empty() ? "" : words.front()));
    }
    Plan plan;
    plan.name = words.front();
    std::vector<std::string_view> parameters(words.begin() + 1, words.end());
    plan.allows_over = take_over_parameter(parameters);
    plan.in_flight = take_in_flight(parameters);
    std::span<const std::string_view> limits = parameters;
    if (!limits.empty() && limits.back().starts_with("window=")) {
        const auto window = limits.back().substr(sizeof("window=") - 1);
        if (window != "fixed" && window != "sliding") {
            throw ParseError("invalid window " + in_quotes(window));
        }
        plan.sliding = window == "sliding";
        limits = limits.first(limits.size() - 1);
    }
    for (const std::string_view word : {"custom", "unlimited"}) {
        if (std::ranges::find(limits, word) == limits.end()) {
            continue;
        }
        if (limits.size() != 1) {
            throw ParseError(in_quotes(word) + " stands alone, without rates");
        }
        plan.kind = word == "custom" ? Plan::Kind::kCustom : Plan::Kind::kUnlimited;
        if (plan.kind == Plan::Kind::kCustom && plan.in_flight != 0) {
            throw ParseError("\"in_flight\" of a custom plan is among the limits of a key");
        }
        if (plan.allows_over) {
            throw ParseError("\"over\" follows rates, not " + in_quotes(word));
        }
        return plan;
    }
    plan.rates = parse_rates(limits);
    if (plan.allows_over) {
        require_windows(plan.rates);
    }
    if (plan.sliding) {
        require_sliding(plan.rates);
        if (std::ranges::all_of(plan.rates, &Rate::is_bucket)) {
            throw ParseError("\"window=sliding\" needs a rate without \"burst\"");
        }
    }
    return plan;
}

std::chrono::milliseconds parse_lease_time(std::string_view text) {
    if (text == "off") {
        return 0ms;
    }
    const auto time = parse_duration(text);
    if (time < kLeastLeaseTime || time > kMostLeaseTime) {
        throw ParseError("\"lease\" is \"off\" or a time from 50ms to 1m, not " + in_quotes(text));
    }
    return time;
}

std::chrono::days parse_history(std::string_view text) {
    const auto time = std::chrono::ceil<std::chrono::days>(parse_duration(text));
    if (time < kLeastHistory || time > kMostHistory) {
        throw ParseError("\"history\" is a time from 1d to 3660d, not " + in_quotes(text));
    }
    return time;
}

std::vector<std::int64_t> parse_notify(std::span<const std::string_view> words) {
    constexpr std::int64_t kHighest = 100;
    std::vector<std::int64_t> levels;
    for (const auto word : words) {
        const auto level = word.ends_with('%')
                               ? parse_whole_number(word.substr(0, word.size() - 1), 1, kHighest)
                               : std::nullopt;
        if (!level) {
            throw ParseError("a level of \"notify\" is 1% to 100%, not " + in_quotes(word));
        }
        if (std::ranges::find(levels, *level) != levels.end()) {
            throw ParseError("duplicate level " + in_quotes(word));
        }
        levels.push_back(*level);
    }
    if (levels.size() > kMostLevels) {
        throw ParseError("\"notify\" has at most " + std::to_string(kMostLevels) + " levels");
    }
    std::ranges::sort(levels);
    return levels;
}

BanPolicy parse_ban(std::span<const std::string_view> words) {
    BanPolicy ban;
    std::vector<std::string_view> seen;
    for (const auto word : words) {
        const auto name = word.substr(0, word.find('='));
        const auto value = word.substr(std::min(name.size() + 1, word.size()));
        if (std::ranges::find(seen, name) != seen.end()) {
            throw ParseError("duplicate parameter " + in_quotes(word));
        }
        seen.push_back(name);
        if (name == "after") {
            ban.after = parse_strikes(value);
        } else if (name == "within") {
            ban.within = parse_duration(value);
        } else if (name == "for") {
            ban.first = parse_duration(value);
        } else if (name == "up_to") {
            ban.up_to = parse_duration(value);
        } else if (word == "strikes=id" || word == "strikes=all") {
            ban.all_strike = value == "all";
        } else {
            throw ParseError("invalid parameter " + in_quotes(word));
        }
    }
    if (ban.after == 0 || ban.within == 0ms || ban.first == 0ms) {
        throw ParseError("a ban needs \"after\", \"within\" and \"for\"");
    }
    if (ban.up_to == 0ms) {
        ban.up_to = std::max<std::chrono::milliseconds>(24h, ban.first);
    }
    if (ban.up_to < ban.first) {
        throw ParseError("\"up_to\" is shorter than \"for\"");
    }
    return ban;
}

}  // namespace tollgate
