#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "module/http/config/location_conf.hpp"
#include "module/http/config/subject_conf.hpp"
#include "module/http/config/warnings.hpp"
#include "module/text/ascii.hpp"

namespace tollgate::http {

namespace {

constexpr bool is_name_character(char c) {
    return c == '_' || (to_lower(c) >= 'a' && to_lower(c) <= 'z') || (c >= '0' && c <= '9');
}

/// Whether the text has a variable of this name, or with this prefix if the name ends with `_`.
/// nginx reads names in any case.
bool has_variable(std::string_view text, std::string_view name) {
    for (auto at = text.find('$'); at != std::string_view::npos; at = text.find('$', at + 1)) {
        auto rest = text.substr(at + 1);
        rest.remove_prefix(rest.starts_with('{') ? 1 : 0);
        const auto end = std::ranges::find_if_not(rest, is_name_character);
        const auto found = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
        if (equals_ignoring_case(found.substr(0, name.size()), name) &&
            (name.ends_with('_') || found.size() == name.size())) {
            return true;
        }
    }
    return false;
}

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
    // A sum that contains itself has no value: nginx says so when it is evaluated.
    for (const auto& [name, terms] : main.sums) {
        if (has_variable(text, name) && !has_variable(terms, name)) {
            if (auto mistake = unread_variable(main, conf, terms, when); !mistake.empty()) {
                return mistake;
            }
        }
    }
    return {};
}

}  // namespace

void warn_of_subjects(ngx_conf_t* cf) {
    // One that is inherited is seen once for each location, with the same tables or with others.
    std::set<std::pair<const SubjectConf*, const TableSetConf*>> seen;
    for (const auto& place : MainConf::of(cf).guarded) {
        const auto& core = place.core();
        // A server with locations is skipped: its locations inherit its settings.
        const bool is_outer = core.name.len == 0 && core.locations != nullptr;
        if (!is_outer && place.conf->subject != nullptr &&
            seen.emplace(place.conf->subject, place.conf->tables).second) {
            warn_of_subject(cf, place);
        }
    }
}

void warn_of_unread_bodies(ngx_conf_t* cf) {
    std::set<std::string> seen;
    for (const auto& place : MainConf::of(cf).guarded) {
        const LocationConf& conf = *place.conf;
        const auto& core = place.core();
        // A server with locations is skipped: its locations inherit its settings.
        if (core.name.len == 0 && core.locations != nullptr) {
            continue;
        }
        const auto warn = [&](const std::string& directive, std::string_view text, Known when) {
            const std::string mistake = unread_variable(MainConf::of(cf), conf, text, when);
            const std::string line = place.name() + " has \"" + directive + "\", but " + mistake;
            if (!mistake.empty() && seen.insert(line).second) {
                log_conf_warning(cf, conf.tables->position, line);
            }
        };
        if (conf.cost != nullptr) {
            const auto before = view(conf.cost->before.value);
            warn("tollgate_cost " + std::string(before), before, Known::kBefore);
        }
        if (conf.settles()) {
            const auto used = view(conf.cost->settle->value);
            warn("settle=" + std::string(used), used, Known::kAtEnd);
        }
        for (const PlanTable* table : conf.tables->tables) {
            const std::string by = table->variable.empty() ? "" : "$" + table->variable;
            warn("by=" + by, by, Known::kBefore);
        }
    }
}

}  // namespace tollgate::http
