#include "module/cli/keys/plan_check.hpp"

#include <algorithm>
#include <set>

#include "module/cli/terminal/spelling.hpp"
#include "module/quota/published_plans.hpp"

namespace tollgate::cli {

namespace {

std::string quoted_list(const std::vector<std::string>& names) {
    std::string text;
    for (const auto& name : names) {
        text += (text.empty() ? "\"" : ", \"") + name + "\"";
    }
    return text;
}

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

std::vector<PlanTable> tables_of(const redis::Value& hash) {
    std::vector<PlanTable> tables;
    for (const auto& [name, json] : hash.fields()) {
        if (auto table = read_published_table(name, json)) {
            tables.push_back(std::move(*table));
        }
    }
    return tables;
}

/// The warning for a plan that no table has. Empty if a table has it.
std::string unknown_plan(const std::vector<PlanTable>& tables, const std::string& plan) {
    std::set<std::string> names;
    std::vector<std::string> with_default;
    for (const auto& table : tables) {
        for (const auto& known : table.plans) {
            names.insert(known.name);
        }
        if (!table.default_plan.empty()) {
            with_default.push_back(table.name);
        }
    }
    if (names.contains(plan)) {
        return "";
    }
    const std::vector<std::string> all(names.begin(), names.end());
    std::string text = "no plan table has the plan \"" + plan + "\"" +
                       did_you_mean(similar_names(plan, all)) + ": ";
    if (with_default.size() < tables.size()) {
        text += "requests with the key are refused with 403 plan_not_allowed";
        text += with_default.empty() ? "" : ", except where the default plan applies: in ";
    } else {
        text += "the key gets the default plan of ";
    }
    return text + quoted_list(with_default);
}

}  // namespace

std::vector<PlanTable> read_plan_tables(RedisSession& session, const redis::Keys& keys) {
    return tables_of(session.run({"HGETALL", keys.plans()}));
}

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
        warnings.push_back("the plan \"" + record.plan + "\" is custom in " + quoted_list(custom) +
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
            if (hash && !tables_of(*hash).empty()) {
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
           "\", but plan tables exist with " + quoted_list(others) +
           ": set --prefix (or TOLLGATE_PREFIX) to the prefix of tollgate_redis";
}

}  // namespace tollgate::cli
