#include "module/quota/plan_directives.hpp"

#include <algorithm>
#include <array>

#include "module/key/key_record.hpp"
#include "module/quota/table_quota.hpp"
#include "module/text/parse_error.hpp"

namespace tollgate {

namespace {

void refuse_if(bool duplicate, std::string_view name) {
    if (duplicate) {
        throw ParseError(in_quotes(name) + " directive is duplicate");
    }
}

using Words = std::span<const std::string_view>;

void add_plan(PlanTable& table, Words values) {
    Plan plan = parse_plan(values);
    if (std::ranges::find(table.plans, plan.name, &Plan::name) != table.plans.end()) {
        throw ParseError("duplicate plan " + in_quotes(plan.name));
    }
    table.plans.push_back(std::move(plan));
}

void set_default(PlanTable& table, Words values) {
    refuse_if(!table.default_plan.empty(), "default");
    if (values.size() != 1 || values.front().empty()) {
        throw ParseError("\"default\" names one plan");
    }
    table.default_plan = values.front();
}

void set_anonymous(PlanTable& table, Words values) {
    refuse_if(!table.anonymous.empty(), "anonymous");
    table.anonymous = parse_rates(values);
    for (const Rate& rate : table.anonymous) {
        table.anonymous_policies.push_back(policy_name("anonymous", rate.period));
    }
}

void set_ban(PlanTable& table, Words values) {
    refuse_if(table.ban.has_value(), "ban");
    table.ban = parse_ban(values);
}

void set_history(PlanTable& table, Words values) {
    refuse_if(table.has_history(), "history");
    if (values.size() != 1) {
        throw ParseError("\"history\" is one time");
    }
    table.history = parse_history(values.front());
}

/// A directive of the block and the function that sets it, which throws ParseError for invalid
/// values.
struct PlansDirective {
    std::string_view name;
    void (*set)(PlanTable& table, Words values);
};

constexpr std::array kPlansDirectives{
    PlansDirective{"plan", add_plan},           PlansDirective{"default", set_default},
    PlansDirective{"anonymous", set_anonymous}, PlansDirective{"ban", set_ban},
    PlansDirective{"history", set_history},
};

}  // namespace

TableDirective parse_table_directive(std::span<const std::string_view> words) {
    constexpr std::string_view kRedis = "redis=";
    constexpr std::string_view kLease = "lease=";
    const std::string_view name = words.empty() ? "" : words.front();
    if (!is_valid_name(name) || name == "off") {
        throw ParseError("invalid name " + in_quotes(name) + " of tollgate_plans");
    }
    TableDirective directive;
    directive.table.name = name;
    bool has_lease = false;
    for (const auto word : words.subspan(1)) {
        if (word.starts_with(kRedis) && word.size() > kRedis.size() &&
            directive.redis_name.empty()) {
            directive.redis_name = word.substr(kRedis.size());
        } else if (word.starts_with(kLease) && !has_lease) {
            has_lease = true;
            directive.table.lease_time = parse_lease_time(word.substr(kLease.size()));
        } else {
            throw ParseError("invalid parameter " + in_quotes(word));
        }
    }
    return directive;
}

void set_plans_directive(PlanTable& table, std::span<const std::string_view> words) {
    const auto* directive =
        std::ranges::find(kPlansDirectives, words.front(), &PlansDirective::name);
    if (directive == kPlansDirectives.end()) {
        throw ParseError("unknown directive " + in_quotes(words.front()) +
                         " in \"tollgate_plans\"");
    }
    directive->set(table, words.subspan(1));
}

void check_plan_table(const PlanTable& table) {
    if (table.plans.empty()) {
        throw ParseError("no plan in tollgate_plans " + in_quotes(table.name));
    }
    if (!table.default_plan.empty() && table.find(table.default_plan) == nullptr) {
        throw ParseError("unknown default plan " + in_quotes(table.default_plan) +
                         " in tollgate_plans " + in_quotes(table.name));
    }
}

}  // namespace tollgate
