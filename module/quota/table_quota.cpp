#include "module/quota/table_quota.hpp"

#include "module/text/name_hash.hpp"

namespace tollgate {

WindowLayout::WindowLayout(const TableQuota& quota) : sliding(quota.sliding) {
    for (std::size_t i = 0; i < quota.rates.size(); ++i) {
        periods[i] = quota.rates[i].period.code();
    }
}

std::size_t window_count(const Quotas& quotas) {
    std::size_t count = 0;
    for (const TableQuota& quota : quotas) {
        count += quota.rates.size();
    }
    return count;
}

std::optional<Quotas> choose_quotas(std::span<const PlanTable* const> tables,
                                    const KeyRecord& key) {
    Quotas quotas;
    for (const PlanTable* table : tables) {
        const Plan* plan = table->find(key.plan);
        if (plan == nullptr) {
            return std::nullopt;
        }
        if (plan->kind == Plan::Kind::kUnlimited) {
            continue;
        }
        const bool custom = plan->kind == Plan::Kind::kCustom;
        TableQuota quota{.table = table->name,
                         .rates = custom ? parse_rates(key.limits) : plan->rates,
                         .sliding = plan->sliding,
                         .lease_time = table->lease_time,
                         .policies = {}};
        if (custom && quota.sliding) {
            require_sliding(quota.rates);
        }
        // Several tables may have a plan of this name; the table's name makes the policy unique.
        const std::string prefix = tables.size() > 1 ? table->name + "-" : "";
        for (const Rate& rate : quota.rates) {
            quota.policies.push_back(policy_name(prefix + plan->name, rate.period));
        }
        quota.table_id = name_hash(quota.table);
        quotas.push_back(std::move(quota));
    }
    return quotas;
}

std::string policy_name(std::string_view plan, Period period) {
    return std::string(plan) + "-" + period_name(period);
}

}  // namespace tollgate
