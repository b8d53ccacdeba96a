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
        return plan.kind == Plan::Kind::kCustom || has_balance(plan.rates);
    });
}

Task<void> require_balance_stays(Database& database, const redis::Keys& keys, std::string id,
                                 std::string group) {
    const auto owner = co_await owner_of(database, keys, id);
    if (owner.group == group) {
        co_return;
    }
    std::vector<const PlanTable*> none;
    const auto tables = co_await read_known_tables(database, keys, std::move(none));
    // Also tables without a plan that has a balance: they may have had one.
    for (const PlanTable& table : tables) {
        if (table.by_group || table.counts_values()) {
            continue;
        }
        redis::Command read{"HGETALL", keys.quota(owner.owner(), table.name)};
        const auto hash = co_await run(database, std::move(read));
        if (read_balance(hash)) {
            throw OperationError(Reason::kHasBalance,
                                 "group: \"" + id + "\" has a balance in \"" + table.name +
                                     "\", which an id in another group does not have");
        }
    }
}

}  // namespace tollgate::management
