#include "module/management/plan_rules.hpp"
#include "module/plan/limits.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "module/plan/published_plans.hpp"
#include "module/text/parse_error.hpp"

namespace tollgate::management {

namespace {

/// The names of the tables in which the plan is `custom`. Default plans do not count: they are not
/// what the record asks for.
std::vector<std::string> tables_with_custom(const std::vector<PlanTable>& tables,
                                            const std::string& plan) {
    std::set<std::string> found;
    for (const auto& table : tables) {
        const auto named = std::ranges::find(table.plans, plan, &Plan::name);
        if (named != table.plans.end() && named->kind == Plan::Kind::kCustom) {
            found.insert(table.name);
        }
    }
    return {found.begin(), found.end()};
}

/// Refuses limits that no table applies: the plan is `custom` in none, nor is the default plan of a
/// table without it.
void refuse_unused_limits(const std::vector<PlanTable>& all, const KeyRecord& record,
                          PlanOf owner) {
    const auto tables = tables_for(all, owner);
    const bool are_used = std::ranges::any_of(tables, [&](const PlanTable& table) {
        const Plan* plan = table.find(record.plan);
        return plan != nullptr && plan->kind == Plan::Kind::kCustom;
    });
    if (!record.limits.empty() && !tables.empty() && !are_used) {
        refuse("limits: the plan \"" + record.plan +
               "\" is not custom in any plan table: the limits would have no effect");
    }
}

}  // namespace

std::vector<PlanTable> tables_in(const redis::Value& hash) {
    std::vector<PlanTable> tables;
    for (const auto& [name, json] : hash.fields()) {
        if (auto table = read_published_table(name, json)) {
            tables.push_back(std::move(*table));
        }
    }
    return tables;
}

Task<std::vector<PlanTable>> read_published_tables(Database& database, const redis::Keys& keys) {
    redis::Command read{"HGETALL", keys.plans()};
    const auto hash = co_await run(database, std::move(read));
    co_return tables_in(hash);
}

Task<std::vector<PlanTable>> read_known_tables(Database& database, const redis::Keys& keys,
                                               std::vector<const PlanTable*> own) {
    std::vector<PlanTable> tables;
    try {
        tables = co_await read_published_tables(database, keys);
    } catch (const OperationError&) {
        // Another program may use this name in Redis. If Redis is unreachable, the operation
        // fails later.
    }
    std::ranges::transform(own, std::back_inserter(tables),
                           [](const PlanTable* table) { return *table; });
    co_return tables;
}

std::string quoted_list(const std::vector<std::string>& names) {
    std::string text;
    for (const auto& name : names) {
        text += (text.empty() ? "\"" : ", \"") + name + "\"";
    }
    return text;
}

std::vector<std::string> plan_names(const std::vector<PlanTable>& tables) {
    std::set<std::string> names;
    for (const auto& table : tables) {
        std::ranges::transform(table.plans, std::inserter(names, names.end()), &Plan::name);
    }
    return {names.begin(), names.end()};
}

std::vector<PlanTable> tables_for(const std::vector<PlanTable>& tables, PlanOf owner) {
    std::vector<PlanTable> found;
    std::ranges::copy_if(tables, std::back_inserter(found), [&](const PlanTable& table) {
        return table.by_group == (owner == PlanOf::kGroup);
    });
    return found;
}

void require_usable_plan(const std::vector<PlanTable>& all, const KeyRecord& record, PlanOf owner) {
    const auto tables = tables_for(all, owner);
    if (tables.empty()) {
        return;
    }
    const auto names = plan_names(tables);
    if (!std::ranges::binary_search(names, record.plan)) {
        refuse("plan: no plan table has \"" + record.plan + "\": the plans are " +
               quoted_list(names));
    }
    const auto custom = tables_with_custom(tables, record.plan);
    if (record.limits.empty() && !custom.empty()) {
        refuse("limits: the plan \"" + record.plan + "\" is custom in " + quoted_list(custom) +
               ", and the " + (owner == PlanOf::kKey ? "key" : "group") + " has no limits");
    }
}

void refuse_sliding_month(const std::vector<PlanTable>& tables, const KeyRecord& record,
                          PlanOf owner) {
    if (record.limits.empty()) {
        return;
    }
    for (const auto& table : tables_for(tables, owner)) {
        const Plan* plan = table.find(record.plan);
        if (plan == nullptr || plan->kind != Plan::Kind::kCustom || !plan->sliding) {
            continue;
        }
        try {
            require_sliding(parse_limits(record.limits).rates);
        } catch (const ParseError& error) {
            refuse("limits: " + std::string(error.what()) + ", and the plan \"" + record.plan +
                   "\" of \"" + table.name + "\" slides");
        }
    }
}

void check_changed_plan(const std::vector<PlanTable>& tables, const KeyRecord& record,
                        const KeyChanges& changes, Forced forced, PlanOf owner) {
    const bool has_limits = changes.has(redis::record_field::kLimits);
    if (!has_limits && !changes.has(redis::record_field::kPlan)) {
        return;
    }
    if (forced == Forced::kNo) {
        require_usable_plan(tables, record, owner);
        if (has_limits) {
            refuse_unused_limits(tables, record, owner);
        }
    }
    refuse_sliding_month(tables, record, owner);
}

}  // namespace tollgate::management
