// Whose request it is: finds the record of its key, in what the node knows or in Redis.

#include <algorithm>

#include "module/http/clock.hpp"
#include "module/http/decision.hpp"
#include "module/http/redis_client.hpp"
#include "module/http/request/authorization.hpp"
#include "module/key/bearer.hpp"
#include "module/redis/protocol/lookup_reply.hpp"

namespace tollgate::http {

namespace {

/// Whether `events` told of a key's change (0: never) so lately that the key may be new.
bool is_recent(SteadyTime announced, SteadyTime now) {
    return announced != SteadyTime() && now - announced < std::chrono::minutes(1);
}

bool is_valid_now(const KeyRecord& record) {
    return record.is_valid_at(std::chrono::floor<std::chrono::seconds>(node_time()));
}

}  // namespace

void Decision::authenticate() {
    const auto field = authorization_of(r_);
    const Credentials credentials = parse_bearer(field.value_or(""));
    key_was_sent_ = credentials.kind != Credentials::Kind::kMissing;
    if (!key_was_sent_) {
        unauthenticated(kMissingApiKey);
    } else if (credentials.kind == Credentials::Kind::kToken) {
        identify(credentials.token);
    } else {
        unauthenticated(kInvalidApiKey);
    }
}

void Decision::identify(std::string_view token) {
    sought_ = {conf_.tables->redis->name_hash, sha256(token)};
    const Next next = [&] {
        const LockedZone zone(MainConf::of(r_));
        return recall(zone);
    }();
    // It spares Redis the keys that nobody was given; one that was found before was checked then.
    const bool made_up = next == Next::kLookUp && key_.id.empty() && !has_valid_checksum(token);
    proceed(made_up ? Next::kRefuseKey : next);
}

/// Looks for the key in what the node knows.
Decision::Next Decision::recall(const LockedZone& zone) {
    KeyCacheStatistics& statistics = client().statistics().keys;
    const ExactSteadyTime exact_now = exact_steady_time();
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
    const bool fresh = client().is_fresh(found.checked, now);
    if (fresh) {
        (found.exists ? statistics.hits : statistics.negative_hits).add();
    }
    if (!found.exists || !is_valid_now(found.record)) {
        return fresh ? Next::kRefuseKey : Next::kLookUp;
    }
    key_ = std::move(found.record);
    request_.id_hash = found.id;
    is_known_ = now - found.checked < conf_.tables->redis->stale_keys;
    if (!fresh) {
        return Next::kLookUp;
    }
    return conf_.has_fixed_cost() ? admit(zone, exact_now) : Next::kAdmit;
}

void Decision::look_up() {
    const auto priority =
        may_be_made_up_ ? KeyLookups::Priority::kUnknown : KeyLookups::Priority::kKnown;
    client().key_lookups().submit(*this, sought_.digest, priority);
}

void Decision::take_record(const redis::Lookup& lookup) {
    is_known_ = lookup.outcome == redis::Lookup::Outcome::kFound && is_valid_now(lookup.record);
    key_ = is_known_ ? lookup.record : KeyRecord{};
    request_.id_hash = id_hash(key_.id);
    proceed(is_known_ ? Next::kAdmit : Next::kRefuseKey);
}

}  // namespace tollgate::http
