#include "module/gateway/held_quotas.hpp"

#include <iterator>
#include <optional>

#include "module/quota/owed_units.hpp"
#include "module/text/parse_error.hpp"

namespace tollgate::gateway {

namespace {

std::optional<Quotas> quotas_in(const PlanTable& table, const KeyRecord& record) {
    try {
        const PlanTable* const tables[] = {&table};
        return choose_quotas(tables, record);
    } catch (const ParseError&) {
        return std::nullopt;  // Invalid custom limits: the key was granted nothing.
    }
}

}  // namespace

Quotas held_quotas(std::span<const ServedTable> tables, const LockedZone& zone, std::uint32_t redis,
                   const KeyCache::Found& found) {
    Quotas held;
    for (const ServedTable& served : tables) {
        if (served.redis != redis) {
            continue;
        }
        for (TableQuota& quota : quotas_in(*served.table, found.record).value_or(Quotas{})) {
            const QuotaCache::Key key(found.id, redis, quota, 0);
            if (is_held(zone.quotas().load(key, quota))) {
                held.push_back(std::move(quota));
            }
        }
    }
    return held;
}

}  // namespace tollgate::gateway
