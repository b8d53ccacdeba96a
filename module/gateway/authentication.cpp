// The first steps of Admission: they find the record of the request's key, in the zone or in Redis.

#include <algorithm>
#include <utility>

#include "module/gateway/address_budget.hpp"
#include "module/gateway/admission.hpp"
#include "module/gateway/engine.hpp"
#include "module/gateway/held_quotas.hpp"
#include "module/key/bearer.hpp"
#include "module/key/digest.hpp"
#include "module/key/scopes.hpp"

namespace tollgate::gateway {

namespace {

/// How often the use of a known key is noted in the zone, which evicts the least recently used
/// records.
constexpr SteadyTime kTouchInterval{1000};

/// Whether `events` announced a change of the key (0: never) so recently that the key may be new.
bool is_recent(SteadyTime announced, SteadyTime now) {
    return announced != SteadyTime() && now - announced < std::chrono::minutes(1);
}

bool is_valid_at(const KeyRecord& record, Instant now) {
    return record.is_valid_at(std::chrono::floor<std::chrono::seconds>(now));
}

}  // namespace

void Admission::authenticate(std::optional<std::string_view> token) {
    outcome_.key_was_sent = token.has_value();
    if (token) {
        identify(*token);
    } else {
        refuse_key(options_.missing_key);
    }
}

void Admission::identify(std::string_view token) {
    KnownKeys& keys = engine().known_keys();
    const ExactSteadyTime now = engine().clock().steady();
    const TokenHash hash = keys.hash(token);
    // What a worker knows of a key serves to decide by its quotas.
    KnownKey* known = options_.checks_key_only
                          ? nullptr
                          : keys.find(hash, tables_, std::chrono::floor<SteadyTime>(now));
    if (known != nullptr && is_valid_at(*known->record, engine().clock().wall())) {
        if (is_current(*known, now)) {
            use_known(*known, now);
            return;
        }
        if (!engine().transport().is_reachable(engine().slot_of(known->key.digest)) &&
            !is_outdated(known->key, known->id, known->checked)) {
            recall(*known, now);
            if (is_known_) {
                note_use(*known, now);
            }
            apply_failure_policy();
            return;
        }
    }
    // A known token is well-formed.
    if (!is_b64token(token)) {
        refuse_key(kInvalidApiKey);
        return;
    }
    sought_ = {engine().settings().name_hash, sha256(token)};
    SteadyTime checked{};
    const Next next = find_in_cache(checked);
    if (next == Next::kAdmit && !options_.checks_key_only) {
        attempt(engine().log(), [&] { remember(hash, checked); });
    }
    // A wrong checksum saves Redis the look-up. A cached key was checked before.
    const bool is_made_up = next == Next::kLookUp && !outcome_.record && !has_valid_checksum(token);
    run(is_made_up ? Next::kRefuseKey : next);
}

/// Whether the record of a known key may be used without asking again.
bool Admission::is_current(const KnownKey& known, ExactSteadyTime now) const {
    return known.checked >
               engine().zone().last_change(known.key.redis, known.key.digest, known.id) &&
           engine().is_fresh(known.checked, std::chrono::floor<SteadyTime>(now));
}

/// Whether a record has certainly changed since it was looked up at `checked`. Then it is not
/// served while Redis is out of reach: the key may have been revoked.
bool Admission::is_outdated(const KeyCache::Key& key, const IdHash& id, SteadyTime checked) const {
    return checked <= engine().zone().last_made_change(key.redis, key.digest, id);
}

/// Whether the key has all scopes that the location requires.
bool Admission::has_scopes() const {
    return contains_scopes(outcome_.key().scopes, options_.scopes);
}

/// The key of the request is valid: notes that it is used, at most once a minute.
void Admission::note_use() noexcept {
    if (!std::exchange(is_use_noted_, true) && used_ != engine().uses().minute()) {
        engine().uses().note(sought_, outcome_.key());
    }
}

/// The same, for a known key: without a lock of the zone if the worker has noted its use.
void Admission::note_use(KnownKey& known, ExactSteadyTime now) noexcept {
    is_use_noted_ = true;
    if (now >= known.use_noted_until) {
        known.use_noted_until = engine().uses().end_of_minute();
        engine().uses().note(known.key, *known.record);
    }
}

/// Authenticates the request by a known key.
void Admission::recall(const KnownKey& known, ExactSteadyTime now) {
    outcome_.record = known.record;
    sought_ = known.key;
    request_.id_hash = known.id;
    is_known_ = now - known.checked < engine().settings().stale_keys;
}

void Admission::use_known(KnownKey& known, ExactSteadyTime now) {
    const auto time = std::chrono::floor<SteadyTime>(now);
    engine().statistics()["key_cache_lookups.hit"].add();
    recall(known, now);
    note_use(known, now);
    // A slice grants for all locations with these tables, which may require other scopes.
    if (!has_scopes()) {
        forbid(kInsufficientScope);
        return;
    }
    if (!options_.cost) {
        cost_ = client_.cost();
    }
    request_.quotas = known.quotas;
    describe_demand();
    if (request_.demand.cost > 0 && known.slice.spend(request_.demand.cost, now)) {
        grant_from_slice(known, now);
        return;
    }
    if (known.refusal.applies_to(request_.demand, now)) {
        repeat_refusal(known.refusal, now);
        return;
    }
    known_ = &known;
    if (time - known.touched >= kTouchInterval) {
        keep_record(known, time);
    }
    const Next next = admit(now);
    known_ = nullptr;
    run(next);
}

/// Marks the record of a known key in the zone as used. A record that was evicted is stored again:
/// Settlement reads the id from it.
void Admission::keep_record(KnownKey& known, SteadyTime now) noexcept {
    known.touched = now;
    attempt(engine().log(), [&] {
        const LockedStripe stripe(engine().zone(), known.key);
        if (!stripe.keys().touch(known.key, now) && !stripe.keys().is_unknown(known.key)) {
            put_record(engine().tables(), engine().zone(), stripe, known.key, *known.record,
                       known.checked);
        }
    });
}

void Admission::grant_from_slice(const KnownKey& known, ExactSteadyTime now) {
    RedisStatistics& statistics = engine().statistics();
    statistics["quota_decisions.lease"].add();
    outcome_.quotas = std::move(request_.quotas);
    statistics["lease_units.spent"].add(static_cast<std::uint64_t>(request_.demand.cost) *
                                        outcome_.quotas->size());
    outcome_.windows = known.slice.windows();
    outcome_.now = known.slice.redis_time(now);
    grant(Verdict::kGranted);
}

void Admission::repeat_refusal(RecentRefusal& refusal, ExactSteadyTime now) {
    engine().statistics()["quota_decisions.refusal"].add();
    refusal.repeat();
    local_ = {.answer = refusal.answer(),
              .windows = refusal.windows(),
              .now = refusal.redis_time(now),
              .banned_until = refusal.banned_until()};
    run(Next::kDecided);
}

/// The record was just found in the zone: the next request with this token needs neither SHA-256
/// nor the zone for it. Throws std::bad_alloc.
void Admission::remember(const TokenHash& token, SteadyTime checked) {
    const auto quotas = tables_.quotas_of(outcome_.key());
    if (!quotas || quotas->empty()) {
        return;
    }
    KnownKey& known = engine().known_keys().place_for(token, tables_);
    engine().slices().end(known);
    known.token = token;
    known.tables = &tables_;
    known.key = sought_;
    known.record = outcome_.record;
    known.id = request_.id_hash;
    known.quotas = quotas;
    known.checked = checked;
    known.touched = known.used = engine().steady_time();
    known.use_noted_until = {};
    known.slice = {};
    known.refusal = {};
}

/// Looks for the key in the zone. Sets `checked` to the time of its record's look-up.
Admission::Next Admission::find_in_cache(SteadyTime& checked) {
    RedisStatistics& statistics = engine().statistics();
    Zone& zone = engine().zone();
    const SteadyTime now = engine().steady_time();
    KeyCache::Found found;
    const bool is_cached = LockedStripe(zone, sought_).keys().find(sought_, now, found);
    const SteadyTime announced = zone.last_change(sought_.redis, sought_.digest);
    const bool is_announced =
        is_recent(announced, now) || (is_cached && announced >= found.checked);
    may_be_made_up_ = !found.exists && !is_announced;
    if (!is_cached || is_outdated(sought_, found.id, found.checked)) {
        return Next::kLookUp;
    }
    const bool fresh =
        found.checked > std::max(announced, zone.last_change(sought_.redis, found.id)) &&
        engine().is_fresh(found.checked, now);
    if (fresh) {
        (found.exists ? statistics["key_cache_lookups.hit"]
                      : statistics["key_cache_lookups.negative_hit"])
            .add();
    }
    if (!found.exists || !is_valid_at(found.record, engine().clock().wall())) {
        return fresh ? Next::kRefuseKey : Next::kLookUp;
    }
    outcome_.record = std::make_shared<const KeyRecord>(std::move(found.record));
    used_ = found.used;
    checked = found.checked;
    request_.id_hash = found.id;
    is_known_ = now - found.checked < engine().settings().stale_keys;
    return fresh ? Next::kAdmit : Next::kLookUp;
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
    engine().statistics()["key_cache_lookups.miss"].add();
    guard([&] { use_record(lookup); });
}

void Admission::on_lookup_failed() noexcept {
    engine().statistics()["key_cache_lookups.miss"].add();
    guard([&] { apply_failure_policy(); });
}

void Admission::use_record(const redis::Lookup& lookup) {
    is_known_ = lookup.outcome == redis::Lookup::Outcome::kFound &&
                is_valid_at(lookup.record, engine().clock().wall());
    outcome_.record = is_known_ ? std::make_shared<const KeyRecord>(lookup.record) : nullptr;
    request_.id_hash = id_hash(outcome_.key().id);
    run(is_known_ ? Next::kAdmit : Next::kRefuseKey);
}

}  // namespace tollgate::gateway
