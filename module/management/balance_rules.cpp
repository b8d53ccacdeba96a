#include "module/management/balance_rules.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "module/management/group_index.hpp"
#include "module/management/operation_error.hpp"
#include "module/management/plan_rules.hpp"
#include "module/management/stored_windows.hpp"

namespace tollgate::management {

bool may_have_balance(const PlanTable& table) {
    return !table.counts_values() && std::ranges::any_of(table.plans, [](const Plan& plan) {
        return plan.kind == Plan::Kind::kCustom ||
               std::ranges::any_of(plan.rates, &Rate::is_balance);
    });
}

Task<void> require_no_balance_in_other_group(Database& database, const redis::Keys& keys,
                                             std::string id, std::string group) {
    const auto owner = co_await owner_of(database, keys, id);
    if (owner.group == group) {
        co_return;
    }
    std::vector<const PlanTable*> none;
    const auto tables = co_await read_known_tables(database, keys, std::move(none));
    for (const PlanTable& table : tables) {
        if (table.by_group || !may_have_balance(table)) {
            continue;
        }
        redis::Command read{"HGETALL", keys.quota(owner.owner(), table.name)};
        const auto hash = co_await run(database, std::move(read));
        const auto balance = read_balance(hash);
        if (balance && balance->left > 0) {
            throw OperationError(
                Reason::kHasBalance,
                "group: " + std::to_string(balance->left) + " units are left of the balance of \"" +
                    id + "\" in \"" + table.name +
                    "\", and an id that changes its group begins with new counters");
        }
    }
}

}  // namespace tollgate::management
