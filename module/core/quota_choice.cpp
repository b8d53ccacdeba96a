#include "module/core/quota_choice.hpp"

namespace tollgate {

std::optional<std::vector<TableQuota>> choose_quotas(std::span<const PlanTable* const> tables,
                                                     const KeyRecord& key) {
    std::vector<TableQuota> quotas;
    for (const PlanTable* table : tables) {
        const Plan* plan = table->find(key.plan);
        if (plan == nullptr) {
            return std::nullopt;
        }
        if (plan->kind == Plan::Kind::kUnlimited) {
            continue;
        }
        // Where several tables have a plan of one name, the table's tells their policies apart.
        const std::string prefix = tables.size() > 1 ? table->name + "-" : "";
        const bool custom = plan->kind == Plan::Kind::kCustom;
        quotas.push_back({table->name, custom ? parse_rates(key.limits) : plan->rates,
                          plan->sliding, prefix + plan->name});
    }
    return quotas;
}

std::string policy_name(std::string_view plan, std::chrono::seconds period) {
    return std::string(plan) + "-" + period_name(period);
}

}  // namespace tollgate
