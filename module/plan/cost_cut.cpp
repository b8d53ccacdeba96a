#include "module/plan/cost_cut.hpp"

#include <algorithm>
#include <vector>

namespace tollgate {

namespace {

/// The cost with the units that `units` returns for each table that may be cut.
template <typename Units>
Cost cut(const Cost& cost, std::span<const PlanTable* const> tables, Units units) {
    std::vector<QuotaCost> each;
    each.reserve(tables.size());
    for (std::size_t i = 0; i < tables.size(); ++i) {
        QuotaCost& of = each.emplace_back(cost.of(i));
        if (of.can_be_cut()) {
            of.units = std::clamp(units(*tables[i]), of.least, of.units);
        }
    }
    return Cost(each);
}

}  // namespace

Cost cut_to_limits(const Cost& cost, std::span<const PlanTable* const> tables,
                   const Quotas& quotas) {
    return cut(cost, tables, [&](const PlanTable& table) {
        std::int64_t least = kNoLimit;
        for (const TableQuota& quota : quotas) {
            if (quota.table == table.name) {
                for (const Rate& rate : quota.rates) {
                    least = std::min(least, rate.limit());
                }
            }
        }
        return least;
    });
}

std::optional<Cost> cut_to_rest(const Cost& cost, std::span<const PlanTable* const> tables,
                                std::span<const WindowState> windows) {
    const auto left = [&](const PlanTable& table) {
        std::int64_t left = kNoLimit;
        for (const WindowState& window : windows) {
            if (window.table == table.name && !window.over) {
                left = std::min(left, window.remaining);
            }
        }
        return left;
    };
    for (std::size_t i = 0; i < tables.size(); ++i) {
        if (cost.of(i).can_be_cut() && left(*tables[i]) < cost.of(i).least) {
            return std::nullopt;
        }
    }
    const Cost rest = cut(cost, tables, left);
    return rest == cost ? std::nullopt : std::optional(rest);
}

Cost cut_to_least(const Cost& cost, std::span<const PlanTable* const> tables) {
    return cut(cost, tables, [](const PlanTable& /*table*/) { return std::int64_t{0}; });
}

}  // namespace tollgate
