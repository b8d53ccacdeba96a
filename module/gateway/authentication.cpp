// The first steps of Admission: they find the record of the request's key, in the zone or in Redis.

#include <algorithm>

#include "module/gateway/address_budget.hpp"
#include "module/gateway/admission.hpp"
#include "module/gateway/engine.hpp"
#include "module/key/bearer.hpp"
#include "module/key/digest.hpp"

namespace tollgate::gateway {

namespace {

/// Whether `events` announced a change of the key (0: never) so recently that the key may be new.
bool is_recent(SteadyTime announced, SteadyTime now) {
    return announced != SteadyTime() && now - announced < std::chrono::minutes(1);
}

bool is_valid_at(const KeyRecord& record, Instant now) {
    return record.is_valid_at(std::chrono::floor<std::chrono::seconds>(now));
}

}  // namespace

void Admission::authenticate(std::optional<std::string_view> authorization) {
    const Credentials credentials = parse_bearer(authorization.value_or(""));
    outcome_.key_was_sent = credentials.kind != Credentials::Kind::kMissing;
    if (!outcome_.key_was_sent) {
        refuse_key(kMissingApiKey);
    } else if (credentials.kind == Credentials::Kind::kToken) {
        identify(credentials.token);
    } else {
        refuse_key(kInvalidApiKey);
    }
}

void Admission::identify(std::string_view token) {
    sought_ = {engine().settings().name_hash, sha256(token)};
    const Next next = [&] {
        const LockedZone zone(engine().zone());
        return find_in_cache(zone);
    }();
    // A wrong checksum saves Redis the look-up. A cached key was checked before.
    const bool is_made_up =
        next == Next::kLookUp && outcome_.key.id.empty() && !has_valid_checksum(token);
    run(is_made_up ? Next::kRefuseKey : next);
}

/// Looks for the key in the zone.
Admission::Next Admission::find_in_cache(const LockedZone& zone) {
    KeyCacheStatistics& statistics = engine().statistics().keys;
    const ExactSteadyTime exact_now = engine().clock().steady();
    const auto now = std::chrono::floor<SteadyTime>(exact_now);
    KeyCache::Found found;
    const bool is_cached = zone.keys().find(sought_, now, found);
    const SteadyTime announced = zone.changes().last(sought_.redis, sought_.digest);
    const bool is_announced =
        is_recent(announced, now) || (is_cached && announced >= found.checked);
    may_be_made_up_ = !found.exists && !is_announced;
    const auto is_current = [&] {
        return found.checked > std::max(announced, zone.changes().last(sought_.redis, found.id));
    };
    if (!is_cached || !is_current()) {
        return Next::kLookUp;
    }
    const bool fresh = engine().is_fresh(found.checked, now);
    if (fresh) {
        (found.exists ? statistics.hits : statistics.negative_hits).add();
    }
    if (!found.exists || !is_valid_at(found.record, engine().clock().wall())) {
        return fresh ? Next::kRefuseKey : Next::kLookUp;
    }
    outcome_.key = std::move(found.record);
    request_.id_hash = found.id;
    is_known_ = now - found.checked < engine().settings().stale_keys;
    if (!fresh) {
        return Next::kLookUp;
    }
    return options_.cost ? admit(zone, exact_now) : Next::kAdmit;
}

void Admission::look_up() {
    const auto priority =
        may_be_made_up_ ? KeyLookups::Priority::kUnknown : KeyLookups::Priority::kKnown;
    engine().lookups().submit(*this, sought_.digest, priority);
}

/// Once an address has spent its budget, only a few of its possibly made-up keys are looked up.
bool Admission::on_turn() noexcept {
    guard([&] {
        const bool is_admitted =
            !may_be_made_up_ || admits_look_up(engine().zone(), tables_.budget(), client_.address(),
                                               engine().clock().wall());
        if (!is_admitted) {
            refuse_look_up();
        }
    });
    return !outcome_.is_decided();
}

void Admission::on_record(const redis::Lookup& lookup) noexcept {
    engine().statistics().keys.misses.add();
    guard([&] { use_record(lookup); });
}

void Admission::on_lookup_failed() noexcept {
    engine().statistics().keys.misses.add();
    guard([&] { apply_failure_policy(); });
}

void Admission::use_record(const redis::Lookup& lookup) {
    is_known_ = lookup.outcome == redis::Lookup::Outcome::kFound &&
                is_valid_at(lookup.record, engine().clock().wall());
    outcome_.key = is_known_ ? lookup.record : KeyRecord{};
    request_.id_hash = id_hash(outcome_.key.id);
    run(is_known_ ? Next::kAdmit : Next::kRefuseKey);
}

}  // namespace tollgate::gateway
