#include "module/engine/identity/group_finder.hpp"

#include <string>
#include <utility>

#include "module/engine/identity/identity_parts.hpp"
#include "module/key/digest.hpp"
#include "module/redis/protocol/schema.hpp"

namespace tollgate::engine {

KeyCache::Key group_key(std::uint32_t redis, std::string_view group) {
    // The place of a change depends on the first bytes of this digest: see Changes.
    return {redis, sha256(redis::change_of_group(group))};
}

KeyRecord group_record(const redis::Lookup& lookup, std::string_view group) {
    KeyRecord record;
    record.active = lookup.outcome == redis::Lookup::Outcome::kFound && lookup.record.id == group;
    record.id = group;
    if (record.active) {
        record.plan = lookup.record.plan;
        record.limits = lookup.record.limits;
        record.billing_day = lookup.record.billing_day;
    }
    return record;
}

bool GroupFinder::find(const KeyRecord& key) {
    group_ = key.group;
    const std::uint32_t redis = parts_.context.settings().name_hash;
    key_ = group_key(redis, group_);
    id_ = id_hash(group_);
    Zone& zone = parts_.context.zone();
    const SteadyTime now = parts_.context.steady_time();
    KeyCache::Found found;
    const bool is_cached = LockedStripe(zone, key_).keys().find(key_, now, found) && found.exists;
    if (!is_cached || found.checked <= zone.last_made_change(redis, key_.digest)) {
        return false;
    }
    if (now - found.checked < parts_.context.settings().stale_keys) {
        record_ = std::make_shared<const KeyRecord>(std::move(found.record));
        checked_ = found.checked;
    }
    const bool is_current = found.checked > zone.last_change(redis, key_.digest) &&
                            parts_.changes.is_fresh(found.checked, now);
    return is_current && record_ != nullptr;
}

void GroupFinder::accept(const KnownKey& known) {
    group_ = known.record->group;
    key_ = known.group_key;
    id_ = known.quota.group_hash;
    record_ = known.group;
    checked_ = known.checked;
}

void GroupFinder::accept(const redis::Lookup& lookup, SteadyTime sent) {
    record_ = std::make_shared<const KeyRecord>(group_record(lookup, group_));
    checked_ = sent;
}

}  // namespace tollgate::engine
