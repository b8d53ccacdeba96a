#include "module/cli/keys/plan_check.hpp"

#include <algorithm>

#include "module/cli/terminal/spelling.hpp"
#include "module/management/plan_rules.hpp"

namespace tollgate::cli {

namespace {

/// The names of the tables in which a key with this plan has a plan of this kind. A table without
/// the plan uses its default plan.
std::vector<std::string> tables_with(const std::vector<PlanTable>& tables, const std::string& plan,
                                     Plan::Kind kind) {
    std::vector<std::string> found;
    for (const auto& table : tables) {
        const Plan* of_key = table.find(plan);
        if (of_key != nullptr && of_key->kind == kind) {
            found.push_back(table.name);
        }
    }
    return found;
}

/// The warning for a plan that no table has. Empty if a table has it.
std::string unknown_plan(const std::vector<PlanTable>& tables, const std::string& plan) {
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
    std::string text = "no plan table has the plan \"" + plan + "\"" +
                       did_you_mean(similar_names(plan, names)) + ": ";
    if (with_default.size() < tables.size()) {
        text += "requests with the key are refused with 403 plan_not_allowed";
        text += with_default.empty() ? "" : ", except where the default plan applies: in ";
    } else {
        text += "the key gets the default plan of ";
    }
    return text + management::quoted_list(with_default);
}

}  // namespace

std::vector<std::string> plan_warnings(const std::vector<PlanTable>& tables,
                                       const KeyRecord& record) {
    std::vector<std::string> warnings;
    if (tables.empty()) {
        return warnings;
    }
    if (auto unknown = unknown_plan(tables, record.plan); !unknown.empty()) {
        warnings.push_back(std::move(unknown));
    }
    const auto custom = tables_with(tables, record.plan, Plan::Kind::kCustom);
    if (!record.limits.empty() && custom.empty()) {
        warnings.push_back("the limits of the key have no effect: the plan \"" + record.plan +
                           "\" is not custom in any plan table");
    }
    if (record.limits.empty() && !custom.empty()) {
        warnings.push_back("the plan \"" + record.plan + "\" is custom in " +
                           management::quoted_list(custom) +
                           " and the key has no limits: give --limits");
    }
    return warnings;
}

std::string prefix_warning(RedisSession& session, std::string_view prefix) {
    constexpr std::size_t kPages = 10;
    constexpr std::size_t kMostPrefixes = 3;
    constexpr std::string_view kPlans = "plans";
    std::vector<std::string> others;
    RedisSession::ScanPosition position;
    for (std::size_t page = 0; page < kPages; ++page) {
        for (const auto& key : session.scan(position, "*plans", 1000)) {
            auto other = key.substr(0, key.size() - kPlans.size());
            if (other == prefix || others.size() == kMostPrefixes ||
                std::ranges::find(others, other) != others.end()) {
                continue;
            }
            // The key may belong to another program, or this user may not read it.
            const auto hash = session.run_if_accepted({"HGETALL", key});
            if (hash && !management::tables_in(*hash).empty()) {
                others.push_back(std::move(other));
            }
        }
        if (position.is_at_start()) {
            break;
        }
    }
    if (others.empty()) {
        return "";
    }
    return "no gateway has published plan tables with the prefix \"" + std::string(prefix) +
           "\", but plan tables exist with " + management::quoted_list(others) +
           ": set --prefix (or TOLLGATE_PREFIX) to the prefix of tollgate_redis";
}

}  // namespace tollgate::cli
