#include "module/cli/keys/plan_check.hpp"

#include <algorithm>
#include <utility>

#include "module/cli/commands/operation_failure.hpp"
#include "module/cli/terminal/output.hpp"
#include "module/cli/terminal/spelling.hpp"
#include "module/management/groups.hpp"
#include "module/management/plan_rules.hpp"

namespace tollgate::cli {

namespace {

/// The names of the tables in which the plan of a key is custom. A table without the plan uses its
/// default plan.
std::vector<std::string> custom_in(const std::vector<PlanTable>& tables, const std::string& plan) {
    std::vector<std::string> found;
    for (const auto& table : tables) {
        const Plan* of_key = table.find(plan);
        if (of_key != nullptr && of_key->kind == Plan::Kind::kCustom) {
            found.push_back(table.name);
        }
    }
    return found;
}

/// The warning for a plan that no table has. Empty if a table has it.
std::string unknown_plan(const std::vector<PlanTable>& tables, const std::string& plan,
                         const std::string& owner) {
    const auto names = management::plan_names(tables);
    if (std::ranges::binary_search(names, plan)) {
        return "";
    }
    std::vector<std::string> with_default;
    for (const auto& table : tables) {
        if (!table.default_plan.empty()) {
            with_default.push_back(table.name);
        }
    }
    std::string text =
        "no plan table has the plan \"" + plan + "\"" + did_you_mean(plan, names) + ": ";
    if (with_default.size() < tables.size()) {
        text += owner == "key" ? "requests with the key" : "requests of the group";
        text += " are refused with 403 plan_not_allowed";
        text += with_default.empty() ? "" : ", except where the default plan applies: in ";
    } else {
        text += "the " + owner + " gets the default plan of ";
    }
    return text + management::quoted_list(with_default);
}

/// The first names in quotes, and how many others there are.
std::string quoted_few(const std::vector<std::string>& names) {
    constexpr std::size_t kMost = 3;
    if (names.size() <= kMost) {
        return management::quoted_list(names);
    }
    const auto others = names.size() - kMost;
    return management::quoted_list({names.begin(), names.begin() + kMost}) + " and " +
           (others == 1 ? "another one" : std::to_string(others) + " others");
}

}  // namespace

std::vector<PlanTable> read_tables(RedisSession& session) {
    return complete(management::read_published_tables(session, session.keys()));
}

std::vector<PlanTable> require_tables(RedisSession& session, const std::string& owner) {
    auto tables = read_tables(session);
    if (tables.empty()) {
        throw Failure(ExitStatus::kRedis,
                      without_tables(session, "it is not known which tables count the " + owner));
    }
    return tables;
}

std::optional<std::vector<PlanTable>> tables_to_check(RedisSession& session) {
    try {
        return read_tables(session);
    } catch (const Failure& failure) {
        warn(std::string("the plan cannot be checked: ") + failure.what());
        return std::nullopt;
    }
}

std::string without_tables(const RedisSession& session, std::string_view consequence) {
    return std::string("no gateway has published its plan tables with the prefix \"")
        .append(session.prefix())
        .append("\": ")
        .append(consequence);
}

std::vector<std::string> plan_problems(const std::vector<PlanTable>& all, const KeyRecord& record,
                                       management::PlanOf of) {
    const auto tables = management::tables_for(all, of);
    const std::string owner = of == management::PlanOf::kKey ? "key" : "group";
    std::vector<std::string> problems;
    if (tables.empty()) {
        return problems;
    }
    if (auto unknown = unknown_plan(tables, record.plan, owner); !unknown.empty()) {
        problems.push_back(std::move(unknown));
    }
    const auto custom = custom_in(tables, record.plan);
    if (!record.limits.empty() && custom.empty()) {
        problems.push_back("the limits of the " + owner + " have no effect: the plan \"" +
                           record.plan + "\" is not custom in any plan table");
    }
    if (record.limits.empty() && !custom.empty()) {
        problems.push_back("the plan \"" + record.plan + "\" is custom in " +
                           management::quoted_list(custom) + " and the " + owner +
                           " has no limits: give --limits");
    }
    return problems;
}

void warn_about(const std::vector<PlanTable>& tables, const KeyRecord& record,
                management::PlanOf owner) {
    for (const auto& problem : plan_problems(tables, record, owner)) {
        warn(problem);
    }
}

void warn_about_groups(RedisSession& session, const std::vector<PlanTable>& tables,
                       std::vector<std::string> groups) {
    std::vector<std::string> refusing;
    for (const auto& table : management::tables_for(tables, management::PlanOf::kGroup)) {
        if (table.default_plan.empty()) {
            refusing.push_back(table.name);
        }
    }
    std::erase(groups, "");
    if (refusing.empty() || groups.empty()) {
        return;
    }
    try {
        std::size_t i = 0;
        const auto records =
            complete(management::records_of_groups(session, session.keys(), groups));
        std::erase_if(groups, [&](const std::string& /*group*/) { return records[i++]; });
        if (groups.empty()) {
            return;
        }
        constexpr std::size_t kMostCompared = 500;
        std::vector<std::string> names;
        for (const auto& group :
             complete(management::read_groups(session, session.keys(), "", kMostCompared)).groups) {
            names.push_back(group.id);
        }
        const bool is_one = groups.size() == 1;
        warn(std::string(is_one ? "the group " : "the groups ") + quoted_few(groups) +
             (is_one ? " has" : " have") + " no record" +
             (is_one ? did_you_mean(groups.front(), names) : "") + ": requests of " +
             (is_one ? "its" : "their") + " keys are refused with 403 plan_not_allowed in " +
             management::quoted_list(refusing) + ": see tollgate group set");
    } catch (const Failure& failure) {
        warn(std::string("the group cannot be checked: ") + failure.what());
    }
}

}  // namespace tollgate::cli
