#include "module/plan/plan_directives.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "module/key/key_record.hpp"
#include "module/plan/table_quota.hpp"
#include "module/text/parse_error.hpp"
#include "module/text/whole_number.hpp"

namespace tollgate {

namespace {

void add_plan(PlanTable& table, Words words) {
    Plan plan = parse_plan(words.subspan(1));
    if (std::ranges::find(table.plans, plan.name, &Plan::name) != table.plans.end()) {
        throw ParseError("duplicate plan " + in_quotes(plan.name));
    }
    table.plans.push_back(std::move(plan));
}

void set_anonymous(PlanTable& table, Words words) {
    constexpr std::string_view kShared = "shared";
    table.anonymous_is_shared = words.back() == kShared;
    words = words.first(words.size() - (table.anonymous_is_shared ? 1 : 0));
    table.anonymous = parse_rates(words.subspan(1));
    require_no_balance(table.anonymous, "belongs to an id or a group, not to an address");
    for (const Rate& rate : table.anonymous) {
        if (rate.is_bucket()) {
            throw ParseError("\"anonymous\" has no \"burst\"");
        }
        table.anonymous_policies.push_back(policy_name("anonymous", rate.period));
    }
}

/// Reads other values of `by=` than `group`: `id`, which is the empty name, or the name of a
/// variable after a `$`.
std::string_view parse_variable(std::string_view text) {
    const auto is_of_name = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_';
    };
    const std::string_view name = text.substr(text.starts_with('$') ? 1 : 0);
    if (text == "id") {
        return {};
    }
    if (name.size() == text.size() || name.empty() || !std::ranges::all_of(name, is_of_name)) {
        throw ParseError("\"by\" is \"id\", \"group\" or one variable, not " + in_quotes(text));
    }
    return name;
}

std::int64_t parse_values(std::string_view text) {
    const auto values = parse_whole_number(text, 1, kMostValues);
    if (!values) {
        throw ParseError("\"values\" is a number from 1 to " + std::to_string(kMostValues) +
                         ", not " + in_quotes(text));
    }
    return *values;
}

using PlansDirective = DirectiveRow<void (*)(PlanTable& table, Words words)>;

constexpr std::array kPlansDirectives{
    PlansDirective{"plan", "NAME RATE...", add_plan, true},
    PlansDirective{"default", "NAME",
                   [](PlanTable& t, Words words) { t.default_plan = required_value(words); }},
    PlansDirective{"anonymous", "RATE...", set_anonymous},
    PlansDirective{"ban", "PARAMETER...",
                   [](PlanTable& t, Words words) { t.ban = parse_ban(words.subspan(1)); }},
    PlansDirective{"history", "TIME",
                   [](PlanTable& t, Words words) { t.history = parse_history(words[1]); }},
    PlansDirective{"notify", "LEVEL...",
                   [](PlanTable& t, Words words) { t.notify = parse_notify(words.subspan(1)); }},
};

}  // namespace

TableDirective parse_table_directive(Words words) {
    constexpr std::string_view kRedis = "redis=";
    constexpr std::string_view kLease = "lease=";
    constexpr std::string_view kUnit = "unit=";
    constexpr std::string_view kBy = "by=";
    constexpr std::string_view kValues = "values=";
    const std::string_view name = words.empty() ? "" : words.front();
    if (!is_valid_name(name) || name == "off") {
        throw ParseError("invalid name " + in_quotes(name) + " of tollgate_plans");
    }
    TableDirective directive;
    directive.table.name = name;
    bool has_lease = false;
    bool has_unit = false;
    bool has_by = false;
    bool has_values = false;
    for (const auto word : words.subspan(1)) {
        if (word.starts_with(kRedis) && word.size() > kRedis.size() &&
            directive.redis_name.empty()) {
            directive.redis_name = word.substr(kRedis.size());
        } else if (word.starts_with(kLease) && !has_lease) {
            has_lease = true;
            directive.table.lease_time = parse_lease_time(word.substr(kLease.size()));
        } else if (word.starts_with(kUnit) && !std::exchange(has_unit, true)) {
            directive.table.unit = word.substr(kUnit.size());
            if (!is_valid_unit(directive.table.unit)) {
                throw ParseError("invalid unit " + in_quotes(directive.table.unit) +
                                 ": use 1 to 32 lower-case letters, digits and \"-\", and a letter "
                                 "first");
            }
        } else if (word.starts_with(kBy) && !std::exchange(has_by, true)) {
            const auto value = word.substr(kBy.size());
            directive.table.by_group = value == "group";
            directive.table.variable = directive.table.by_group ? "" : parse_variable(value);
        } else if (word.starts_with(kValues) && !std::exchange(has_values, true)) {
            directive.table.most_values = parse_values(word.substr(kValues.size()));
        } else {
            throw ParseError("invalid parameter " + in_quotes(word));
        }
    }
    if (has_values && !directive.table.counts_values()) {
        throw ParseError("\"values\" needs \"by=$variable\"");
    }
    return directive;
}

void set_plans_directive(PlanTable& table, Words words) {
    find_directive(kPlansDirectives, "tollgate_plans", words, table.seen).set(table, words);
}

void check_plan_table(const PlanTable& table) {
    if (table.plans.empty()) {
        throw ParseError("no plan in tollgate_plans " + in_quotes(table.name));
    }
    if (!table.default_plan.empty() && table.find(table.default_plan) == nullptr) {
        throw ParseError("unknown default plan " + in_quotes(table.default_plan) +
                         " in tollgate_plans " + in_quotes(table.name));
    }
    if (table.counts_values()) {
        for (const Plan& plan : table.plans) {
            require_no_balance(plan.rates, std::string(kNoBalanceOfValues) + ", in plan " +
                                               in_quotes(plan.name) + " of tollgate_plans " +
                                               in_quotes(table.name));
        }
    }
    // A place of a request in flight belongs to the id: see Flights.
    const auto limited =
        std::ranges::find_if(table.plans, [](const Plan& plan) { return plan.in_flight != 0; });
    const std::string by = table.by_group ? "group" : "$" + table.variable;
    if ((table.counts_values() || table.by_group) && limited != table.plans.end()) {
        throw ParseError("\"in_flight\" of plan " + in_quotes(limited->name) + " with \"by=" + by +
                         "\" in tollgate_plans " + in_quotes(table.name) +
                         ": use a table by=id for it");
    }
    if (table.by_group && table.has_history()) {
        throw ParseError("\"history\" with \"by=group\" in tollgate_plans " +
                         in_quotes(table.name) + ": use a table by=id for it");
    }
}

}  // namespace tollgate
