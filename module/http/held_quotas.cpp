#include "module/http/held_quotas.hpp"

#include <iterator>
#include <optional>

#include "module/quota/quota_report.hpp"
#include "module/text/parse_error.hpp"

namespace tollgate::http {

namespace {

std::optional<Quotas> quotas_in(const PlanTable& table, const KeyRecord& record) {
    try {
        const PlanTable* const tables[] = {&table};
        return choose_quotas(tables, record);
    } catch (const ParseError&) {
        return std::nullopt;  // Limits of its own that don't parse: it was granted nothing.
    }
}

}  // namespace

Quotas held_quotas(const MainConf& main, const LockedZone& zone, std::uint32_t redis,
                   const KeyCache::Found& found) {
    Quotas held;
    for (const auto& conf : main.tables) {
        if (conf->redis->name_hash != redis) {
            continue;
        }
        for (TableQuota& quota : quotas_in(conf->table, found.record).value_or(Quotas{})) {
            const QuotaCache::Key key(found.id, redis, quota, 0);
            if (is_held(zone.quotas().load(key, quota))) {
                held.push_back(std::move(quota));
            }
        }
    }
    return held;
}

}  // namespace tollgate::http
