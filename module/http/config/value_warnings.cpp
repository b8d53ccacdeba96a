#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "module/http/config/complex_value.hpp"
#include "module/http/config/location_conf.hpp"
#include "module/http/config/subject_conf.hpp"
#include "module/http/config/warnings.hpp"
#include "module/text/ascii.hpp"

namespace tollgate::http {

namespace {

/// Whether the value is made of what a client sends.
bool is_sent_by_client(const ngx_http_complex_value_t& value) {
    constexpr std::array<std::string_view, 3> kSent{"http_", "arg_", "cookie_"};
    return std::ranges::any_of(
        kSent, [&](std::string_view prefix) { return has_variable(view(value.value), prefix); });
}

/// What happens to requests with the plan of this name, for a warning; empty if it serves subjects
/// in all tables.
std::string mistake_of_plan(const TableSetConf& set, std::string_view name) {
    bool is_known = false;
    bool is_by_group = false;
    for (const PlanTable* table : set.tables) {
        is_by_group = is_by_group || table->by_group;
        const Plan* plan = table->find(name);
        if (table->by_group) {
            continue;
        }
        if (plan == nullptr) {
            return "\"" + table->name + "\" has no such plan: these requests get 403";
        }
        if (plan->kind == Plan::Kind::kCustom) {
            return "a plan that is \"custom\" in \"" + table->name +
                   "\" has no limits for a subject: these requests get 403";
        }
        is_known = is_known || plan->name == name;
    }
    return is_known || is_by_group ? std::string()
                                   : "no table has such a plan: the default ones apply";
}

void warn_of_subject(ngx_conf_t* cf, const GuardedPlace& place) {
    const SubjectConf& subject = *place.conf->subject;
    const auto warn = [&](const std::string& text) {
        log_conf_warning(cf, subject.position, place.name() + " has " + text);
    };
    if (is_sent_by_client(subject.id)) {
        warn("\"tollgate_subject " + std::string(view(subject.id.value)) +
             "\", which clients choose: anybody can spend the quota of any id");
    }
    if (subject.plan == nullptr) {
        return;
    }
    const std::string plan(view(subject.plan->value));
    if (is_sent_by_client(*subject.plan)) {
        warn("\"plan=" + plan + "\", which clients choose: anybody can have any plan");
    } else if (subject.plan->lengths == nullptr) {
        if (const auto mistake = mistake_of_plan(*place.conf->tables, plan); !mistake.empty()) {
            warn("\"plan=" + plan + "\", but " + mistake);
        }
    }
}

/// When the value of a variable is needed.
enum class Known { kBefore, kAtEnd };

/// What is wrong with a value that is needed in this place: a variable of a body that it does not
/// read, or that is known later; empty if nothing is.
std::string unread_variable(const MainConf& main, const LocationConf& conf, std::string_view text,
                            Known when) {
    const auto is_unread = [&](const std::string& name, const JsonValuesConf* values) {
        return has_variable(text, name) && (values == nullptr || values->find(name) == nullptr);
    };
    for (const auto& name : main.response_variables) {
        if (has_variable(text, name) && when == Known::kBefore) {
            return "\"$" + name + "\" is known when the request ends: it is empty";
        }
        if (is_unread(name, conf.response_json)) {
            return "no \"tollgate_response_json\" reads \"$" + name + "\" here: it is empty";
        }
    }
    for (const auto& name : main.request_variables) {
        if (is_unread(name, conf.request_json)) {
            return "no \"tollgate_request_json\" reads \"$" + name + "\" here: it is empty";
        }
    }
    return {};
}

/// The text, and the terms of all sums that it needs, also through other sums.
std::string with_sums(const MainConf& main, std::string_view text) {
    std::string all(text);
    std::vector<bool> is_added(main.sums.size());
    for (bool has_grown = true; has_grown;) {
        has_grown = false;
        for (std::size_t i = 0; i < main.sums.size(); ++i) {
            if (!is_added[i] && has_variable(all, main.sums[i].first)) {
                all.append(" ").append(main.sums[i].second);
                is_added[i] = has_grown = true;
            }
        }
    }
    return all;
}

}  // namespace

void warn_of_subjects(ngx_conf_t* cf) {
    // One that is inherited is seen once for each location, with the same tables or with others.
    std::set<std::pair<const SubjectConf*, const TableSetConf*>> seen;
    for (const auto& place : MainConf::of(cf).guarded) {
        if (!is_outer(place.core()) && place.conf->subject != nullptr &&
            seen.emplace(place.conf->subject, place.conf->tables).second) {
            warn_of_subject(cf, place);
        }
    }
}

void warn_of_unread_bodies(ngx_conf_t* cf) {
    std::set<std::string> seen;
    for (const auto& place : MainConf::of(cf).guarded) {
        const LocationConf& conf = *place.conf;
        if (is_outer(place.core())) {
            continue;
        }
        const auto warn = [&](const std::string& directive, std::string_view text, Known when) {
            const MainConf& main = MainConf::of(cf);
            const std::string mistake = unread_variable(main, conf, with_sums(main, text), when);
            std::string line = place.name();
            line.append(" has \"").append(directive).append("\", but ").append(mistake);
            if (!mistake.empty() && seen.insert(line).second) {
                log_conf_warning(cf, conf.tables->position, line);
            }
        };
        for (const CostConf* cost : *conf.table_costs) {
            if (cost != nullptr) {
                const auto before = view(cost->before.value);
                warn("tollgate_cost " + std::string(before), before, Known::kBefore);
            }
            if (cost != nullptr && cost->settle != nullptr) {
                const auto used = view(cost->settle->value);
                warn("settle=" + std::string(used), used, Known::kAtEnd);
            }
        }
        for (const PlanTable* table : conf.tables->tables) {
            const std::string by = table->variable.empty() ? "" : "$" + table->variable;
            warn("by=" + by, by, Known::kBefore);
        }
    }
}

}  // namespace tollgate::http
