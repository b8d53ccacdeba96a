#include "module/plan/plan_quotas.hpp"

#include <algorithm>

namespace tollgate {

namespace {

/// A cache is cleared at this size. Plans, limits and billing days come from key records; if there
/// are so many, most are not used again.
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

/// The limits and the billing day of a record. Neither contains the separator.
std::string terms_of(const KeyRecord& record) {
    return std::string(record.limits).append(1, '\t').append(record.billing_day);
}

bool depends_on_record(const Plan& plan) {
    return plan.kind == Plan::Kind::kCustom ||
           std::ranges::any_of(plan.rates, [](const Rate& rate) { return rate.period.is_month(); });
}

}  // namespace

bool PlanQuotas::depend_on_records(const KeyRecord& key, const KeyRecord* group) const {
    return std::ranges::any_of(tables_, [&](const PlanTable* table) {
        if (table->by_group && group == nullptr) {
            return false;
        }
        const Plan* found = table->find(table->by_group ? group->plan : key.plan);
        return found != nullptr && depends_on_record(*found);
    });
}

std::shared_ptr<const Quotas> PlanQuotas::choose(const KeyRecord& key,
                                                 const KeyRecord* group) const {
    auto quotas = choose_quotas(tables_, key, group);
    return quotas ? std::make_shared<const Quotas>(std::move(*quotas)) : nullptr;
}

std::shared_ptr<const Quotas> PlanQuotas::find(const KeyRecord& key, const KeyRecord* group) {
    const std::string plans = group == nullptr ? key.plan : joined(key.plan, group->plan);
    auto plan = by_plan_.find(plans);
    if (plan == by_plan_.end()) {
        const bool depend = depend_on_records(key, group);
        Choice choice{depend, depend ? nullptr : choose(key, group), {}};
        bound(by_plan_);
        plan = by_plan_.emplace(plans, std::move(choice)).first;
    }
    Choice& choice = plan->second;
    if (!choice.depends_on_records) {
        return choice.quotas;
    }
    const std::string terms =
        group == nullptr ? terms_of(key) : joined(terms_of(key), terms_of(*group));
    const auto known = choice.by_terms.find(terms);
    if (known != choice.by_terms.end()) {
        return known->second;
    }
    bound(choice.by_terms);
    return choice.by_terms.emplace(terms, choose(key, group)).first->second;
}

}  // namespace tollgate
