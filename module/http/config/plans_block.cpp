#include "module/http/config/conf_block.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "module/http/config/main_conf.hpp"
#include "module/key/key_record.hpp"
#include "module/quota/table_quota.hpp"
#include "module/text/name_hash.hpp"
#include "module/text/parse_error.hpp"

namespace tollgate::http {

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

/// A directive of the block and the function that sets it, which throws ParseError for invalid
/// values.
struct PlansDirective {
    std::string_view name;
    void (*set)(PlanTable& table, Words values);
};

constexpr std::array kPlansDirectives{
    PlansDirective{"plan", add_plan},
    PlansDirective{"default", set_default},
    PlansDirective{"anonymous", set_anonymous},
    PlansDirective{"ban", set_ban},
};

/// Sets one directive of the block; its name is the first word.
void set(PlanTable& table, Words words) {
    const auto* directive =
        std::ranges::find(kPlansDirectives, words.front(), &PlansDirective::name);
    if (directive == kPlansDirectives.end()) {
        throw ParseError("unknown directive " + in_quotes(words.front()) +
                         " in \"tollgate_plans\"");
    }
    directive->set(table, words.subspan(1));
}

}  // namespace

char* read_plans_block(ngx_conf_t* cf, ngx_command_t* /*command*/, void* /*conf*/) noexcept {
    return guarded(cf->log, conf_error(), [&] {
        constexpr std::string_view kRedis = "redis=";
        constexpr std::string_view kLease = "lease=";
        auto& main = MainConf::of(cf);
        auto conf = std::make_unique<TableConf>();
        conf->position = Position::of(cf);
        const auto failed = [&](std::string_view message) {
            log_conf_error(cf, conf->position, message);
            return conf_error();
        };
        const auto words = words_of(cf);
        conf->table.name = words[1];
        if (!is_valid_name(words[1]) || words[1] == "off") {
            return failed("invalid name " + in_quotes(words[1]) + " of tollgate_plans");
        }
        for (const auto& other : main.tables) {
            const std::string conflict =
                name_conflict("tollgate_plans", words[1], other->table.name);
            if (!conflict.empty()) {
                return failed(conflict);
            }
        }
        bool has_lease = false;
        for (const auto word : std::span(words).subspan(2)) {
            const bool names_redis = word.starts_with(kRedis) && word.size() > kRedis.size();
            if (names_redis && conf->redis_name.empty()) {
                conf->redis_name = word.substr(kRedis.size());
            } else if (word.starts_with(kLease) && !has_lease) {
                has_lease = true;
                try {
                    conf->table.lease_time = parse_lease_time(word.substr(kLease.size()));
                } catch (const ParseError& e) {
                    return failed(e.what());
                }
            } else {
                return failed("invalid parameter " + in_quotes(word));
            }
        }
        char* result = read_block(
            cf, [&](std::span<const std::string_view> directive) { set(conf->table, directive); });
        if (result != conf_ok()) {
            return result;
        }
        const auto& table = conf->table;
        if (table.plans.empty()) {
            return failed("no plan in tollgate_plans " + in_quotes(table.name));
        }
        if (!table.default_plan.empty() && table.find(table.default_plan) == nullptr) {
            return failed("unknown default plan " + in_quotes(table.default_plan) +
                          " in tollgate_plans " + in_quotes(table.name));
        }
        main.tables.push_back(std::move(conf));
        return conf_ok();
    });
}

}  // namespace tollgate::http
