#include "module/quota/plan_quotas.hpp"

#include <algorithm>

namespace tollgate {

namespace {

/// A cache is cleared at this size. Plans and limits come from key records; if there are so many,
/// most are not used again.
constexpr std::size_t kMostRemembered = 1024;

template <typename Map>
void bound(Map& map) {
    if (map.size() >= kMostRemembered) {
        map.clear();
    }
}

}  // namespace

bool PlanQuotas::is_custom(std::string_view plan) const {
    return std::ranges::any_of(tables_, [&](const PlanTable* table) {
        const Plan* found = table->find(plan);
        return found != nullptr && found->kind == Plan::Kind::kCustom;
    });
}

std::shared_ptr<const Quotas> PlanQuotas::choose(const KeyRecord& key) const {
    auto quotas = choose_quotas(tables_, key);
    return quotas ? std::make_shared<const Quotas>(std::move(*quotas)) : nullptr;
}

std::shared_ptr<const Quotas> PlanQuotas::find(const KeyRecord& key) {
    auto plan = by_plan_.find(key.plan);
    if (plan == by_plan_.end()) {
        const bool custom = is_custom(key.plan);
        Choice choice{custom, custom ? nullptr : choose(key), {}};
        bound(by_plan_);
        plan = by_plan_.emplace(key.plan, std::move(choice)).first;
    }
    Choice& choice = plan->second;
    if (!choice.custom) {
        return choice.quotas;
    }
    const auto known = choice.by_limits.find(key.limits);
    if (known != choice.by_limits.end()) {
        return known->second;
    }
    bound(choice.by_limits);
    return choice.by_limits.emplace(key.limits, choose(key)).first->second;
}

}  // namespace tollgate
