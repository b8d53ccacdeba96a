#include "module/engine/quota/held_quotas.hpp"

#include <iterator>
#include <optional>

#include "module/quota/owed_units.hpp"
#include "module/text/parse_error.hpp"

namespace tollgate::engine {

namespace {

/// The record may be that of a group.
std::optional<Quotas> quotas_in(const PlanTable& table, const KeyRecord& record) {
    try {
        const PlanTable* const tables[] = {&table};
        return choose_quotas(tables, record, record.group.empty() ? &record : nullptr);
    } catch (const ParseError&) {
        return std::nullopt;  // Invalid custom limits: the key was granted nothing.
    }
}

}  // namespace

Quotas held_quotas(std::span<const ServedTable> tables, const LockedStripe& stripe,
                   std::uint32_t redis, const KeyCache::Found& found) {
    Quotas held;
    for (const ServedTable& served : tables) {
        if (served.redis != redis) {
            continue;
        }
        for (TableQuota& quota : quotas_in(*served.table, found.record).value_or(Quotas{})) {
            const QuotaCache::Key key(found.id, redis, quota, 0);
            if (quota.by == CountedBy::kValue) {
                for (const ValueDigest value : stripe.quotas().held_values(key)) {
                    held.push_back(quota);
                    held.back().value = value;
                }
            } else if (is_held(stripe.quotas().load(key))) {
                held.push_back(std::move(quota));
            }
        }
    }
    return held;
}

std::optional<TableQuota> with_limits(const PlanTable& table, const KeyRecord& record,
                                      const TableQuota& counted) {
    for (TableQuota& quota : quotas_in(table, record).value_or(Quotas{})) {
        if (quota.by == counted.by && layout_name(quota) == layout_name(counted)) {
            quota.value = counted.value;
            return std::move(quota);
        }
    }
    return std::nullopt;
}

bool may_hold_quotas(std::span<const ServedTable> tables, Zone& zone, const LockedStripe& stripe,
                     std::uint32_t redis, const KeyCache::Found& found) {
    const auto holds = [&](const LockedStripe& of_id) {
        const QuotaCache& quotas = of_id.quotas();
        return quotas.is_any_held(found.id, redis) ||
               (!quotas.knows_layouts() && !held_quotas(tables, of_id, redis, found).empty());
    };
    const StripeNumber number = zone.stripe_of(found.id);
    if (number == stripe.number()) {
        return holds(stripe);
    }
    // If another worker uses the stripe of the id, the id may hold quotas.
    const LockedStripe of_id(zone, number, std::try_to_lock);
    return !of_id.owns_lock() || holds(of_id);
}

void put_record(std::span<const ServedTable> tables, Zone& zone, const LockedStripe& stripe,
                const KeyCache::Key& key, const KeyRecord& record, SteadyTime checked) {
    const auto keeps = [&](std::uint32_t redis, const KeyCache::Found& other) {
        return may_hold_quotas(tables, zone, stripe, redis, other);
    };
    stripe.keys().put(key, record, checked, keeps);
}

}  // namespace tollgate::engine
