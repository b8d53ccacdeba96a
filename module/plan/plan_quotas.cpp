#include "module/plan/plan_quotas.hpp"

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

/// What is of a key and what is of its group, as one text. Neither contains the separator.
std::string joined(std::string_view of_key, std::string_view of_group) {
    return std::string(of_key).append(1, '\n').append(of_group);
}

/// The plan of a record, and its billing day. A plan does not contain the separator. Most records
/// have only a plan.
std::string plan_and_day(const KeyRecord& record) {
    std::string text = record.plan;
    if (!record.billing_day.empty()) {
        text.append(1, '\t').append(record.billing_day);
    }
    return text;
}

}  // namespace

bool PlanQuotas::is_custom(const KeyRecord& key, const KeyRecord* group) const {
    return std::ranges::any_of(tables_, [&](const PlanTable* table) {
        if (table->by_group && group == nullptr) {
            return false;
        }
        const Plan* found = table->find(table->by_group ? group->plan : key.plan);
        return found != nullptr && found->kind == Plan::Kind::kCustom;
    });
}

std::shared_ptr<const Quotas> PlanQuotas::choose(const KeyRecord& key,
                                                 const KeyRecord* group) const {
    auto quotas = choose_quotas(tables_, key, group);
    return quotas ? std::make_shared<const Quotas>(std::move(*quotas)) : nullptr;
}

std::shared_ptr<const Quotas> PlanQuotas::find(const KeyRecord& key, const KeyRecord* group) {
    return group == nullptr ? find(plan_and_day(key), key.limits, key, nullptr)
                            : find(joined(plan_and_day(key), plan_and_day(*group)),
                                   joined(key.limits, group->limits), key, group);
}

std::shared_ptr<const Quotas> PlanQuotas::find(const std::string& plan_name,
                                               const std::string& limits, const KeyRecord& key,
                                               const KeyRecord* group) {
    auto plan = by_plan_.find(plan_name);
    if (plan == by_plan_.end()) {
        const bool custom = is_custom(key, group);
        Choice choice{custom, custom ? nullptr : choose(key, group), {}};
        bound(by_plan_);
        plan = by_plan_.emplace(plan_name, std::move(choice)).first;
    }
    Choice& choice = plan->second;
    if (!choice.custom) {
        return choice.quotas;
    }
    const auto known = choice.by_limits.find(limits);
    if (known != choice.by_limits.end()) {
        return known->second;
    }
    bound(choice.by_limits);
    return choice.by_limits.emplace(limits, choose(key, group)).first->second;
}

}  // namespace tollgate
