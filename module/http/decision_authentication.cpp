// Whose request it is: finds the record of its key, in what the node knows or in Redis.

#include <algorithm>

#include "module/core/bearer.hpp"
#include "module/http/authorization.hpp"
#include "module/http/clock.hpp"
#include "module/http/decision.hpp"
#include "module/http/key_waiter.hpp"
#include "module/http/redis_client.hpp"
#include "module/redis/key_lookup.hpp"

namespace tollgate::http {

namespace {

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
    const SteadyTime now = steady_time();
    KeyCache::Found found;
    const auto is_current = [&] {
        const auto changed = std::max(zone.changes().last(sought_.redis, sought_.digest),
                                      zone.changes().last(sought_.redis, found.id));
        return found.checked > changed;
    };
    if (!zone.keys().find(sought_, now, found) || !is_current()) {
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
    return conf_.has_fixed_cost() ? admit(zone, now) : Next::kAdmit;
}

void Decision::look_up() {
    const RedisConf& redis = *conf_.tables->redis;
    client().statistics().keys.misses.add();
    client().statistics().lookups.add();
    auto waiter = std::make_unique<KeyWaiter>(*this);
    key_waiter_ = waiter.get();
    client().connection().run({&redis::lookup_script(), {redis.keys.key(hex(sought_.digest))}},
                              std::move(waiter));
}

void Decision::take_record(const redis::Lookup& lookup, SteadyTime asked) {
    using Outcome = redis::Lookup::Outcome;
    if (lookup.outcome == Outcome::kMalformed) {
        ngx_log_error(NGX_LOG_ERR, r_->connection->log, 0,
                      "tollgate: malformed record of a key in Redis");
    }
    const bool good = lookup.outcome == Outcome::kFound && is_valid_now(lookup.record);
    {
        const LockedZone zone(MainConf::of(r_));
        if (lookup.outcome == Outcome::kFound) {
            zone.keys().put(sought_, lookup.record, asked);
        } else {
            zone.keys().put_unknown(sought_, asked);
        }
    }
    is_known_ = good;
    key_ = good ? lookup.record : KeyRecord{};
    request_.id_hash = id_hash(key_.id);
    proceed(good ? Next::kAdmit : Next::kRefuseKey);
}

}  // namespace tollgate::http
