#include "module/engine/table_set.hpp"

#include <algorithm>
#include <utility>

#include "module/text/parse_error.hpp"

namespace tollgate::engine {

namespace {

/// The first table with an `anonymous` budget; nullptr if there is none.
const PlanTable* table_with_budget(std::span<const PlanTable* const> tables) {
    const auto found = std::ranges::find_if(
        tables, [](const PlanTable* table) { return !table->anonymous.empty(); });
    return found == tables.end() ? nullptr : *found;
}

}  // namespace

TableSet::TableSet(std::span<const PlanTable* const> tables, const std::optional<BanPolicy>& ban,
                   EngineContext& context, std::vector<RequestStatistics*> statistics)
    : tables_(tables),
      ban_(ban),
      context_(context),
      budget_(table_with_budget(tables)),
      quotas_(tables),
      counts_groups_(std::ranges::any_of(tables, &PlanTable::by_group)),
      statistics_(std::move(statistics)) {
    for (std::size_t i = 0; i < tables.size(); ++i) {
        if (tables[i]->counts_values()) {
            counting_values_.push_back(i);
        }
    }
}

std::shared_ptr<const Quotas> TableSet::quotas_of(const KeyRecord& key, const KeyRecord* group) {
    try {
        return quotas_.find(key, group);
    } catch (const ParseError& e) {
        context_.report_record("limits of key \"" + key.id + "\"" +
                               (group == nullptr ? "" : " or group \"" + group->id + "\"") + ": " +
                               e.what());
        return nullptr;
    }
}

Cost TableSet::cost_of(const Quotas& quotas, const Cost& of_tables) const {
    if (of_tables.is_uniform() || quotas.empty()) {
        return of_tables;
    }
    std::vector<QuotaCost> each;
    each.reserve(quotas.size());
    for (const TableQuota& quota : quotas) {
        const auto table = std::ranges::find(tables_, quota.table, &PlanTable::name);
        each.push_back(of_tables.of(static_cast<std::size_t>(table - tables_.begin())));
    }
    return Cost(each);
}

bool TableSet::has_plan(std::string_view plan) const {
    return std::ranges::all_of(tables_, [&](const PlanTable* table) {
        return table->by_group || table->find(plan) != nullptr;
    });
}

RequestStatistics* TableSet::statistics_of(const KeyRecord* record) const {
    if (statistics_.empty()) {
        return nullptr;
    }
    const PlanTable& first = *tables_.front();
    const Plan* plan = record == nullptr ? nullptr : first.find(record->plan);
    return plan == nullptr ? statistics_.back()
                           : statistics_[static_cast<std::size_t>(plan - first.plans.data())];
}

}  // namespace tollgate::engine
