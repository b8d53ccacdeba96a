#include "module/engine/identity/authenticator.hpp"

#include <algorithm>
#include <utility>

#include "module/engine/identity/identity_parts.hpp"
#include "module/key/bearer.hpp"
#include "module/key/digest.hpp"
#include "module/process/spare_memory.hpp"

namespace tollgate::engine {

namespace {

/// How often the use of a known key is noted in the zone, which evicts the least recently used
/// records. Each time the processor waits for its cache lines.
constexpr SteadyTime kTouchInterval{4000};

/// Whether `events` announced a change of the key (0: never) so recently that the key may be new.
bool is_recent(SteadyTime announced, SteadyTime now) {
    return announced != SteadyTime() && now - announced < std::chrono::minutes(1);
}

bool is_valid_at(const KeyRecord& record, Instant now) {
    return record.is_valid_at(std::chrono::floor<std::chrono::seconds>(now));
}

/// What is wrong with a key that is not valid, and has this record if it `exists`.
InvalidKey fault_of(bool exists, const KeyRecord& record, Instant now) {
    return exists ? invalid_key(record, std::chrono::floor<std::chrono::seconds>(now))
                  : InvalidKey{.fault = KeyFault::kUnknown};
}

/// What is wrong with a key that is not valid and was looked up.
InvalidKey fault_of(const redis::Lookup& lookup, Instant now) {
    if (lookup.outcome == redis::Lookup::Outcome::kRevoked) {
        return {KeyFault::kRevoked, lookup.record.id};
    }
    return fault_of(lookup.outcome == redis::Lookup::Outcome::kFound, lookup.record, now);
}

}  // namespace

Authenticator::Found Authenticator::find(std::string_view token, ExactSteadyTime now) {
    KnownKeys& keys = parts_.known_keys;
    const TokenHash hash = keys.hash(token);
    KnownKey* known = keys.find(hash, tables_, std::chrono::floor<SteadyTime>(now));
    if (known != nullptr && !known->quota.slice.is_taken()) {
        parts_.context.zone().prefetch_quota(known->quota.id_hash, known->quota.place);
    }
    if (known != nullptr && is_valid_at(*known->record, parts_.context.clock().wall())) {
        if (is_current(*known, now)) {
            parts_.context.statistics()["key_cache_lookups.hit"].add();
            recall(*known, now);
            note_use(*known, now);
            keep_record(*known, std::chrono::floor<SteadyTime>(now));
            known_ = known;
            return {Result::kValid, known->record};
        }
        if (!parts_.context.transport().is_reachable(parts_.context.slot_of(known->key.digest)) &&
            !is_outdated(known->key, known->quota.id_hash, known->checked)) {
            recall(*known, now);
            if (is_trusted_) {
                note_use(*known, now);
            }
            known_ = known;
            return {Result::kLookup, known->record};
        }
    }
    // A known token is well-formed.
    if (!is_b64token(token)) {
        invalid_.fault = KeyFault::kMalformed;
        return {Result::kInvalid};
    }
    key_ = {parts_.context.settings().name_hash, sha256(token)};
    Found found = find_in_zone();
    if (found.result == Result::kValid) {
        attempt(parts_.context.log(), [&] { remember(hash, found.record); });
        note_use(*found.record);
    }
    // A wrong checksum saves Redis the look-up. A cached key was checked before.
    const bool is_made_up =
        found.result == Result::kLookup && !found.record && !has_valid_checksum(token);
    if (is_made_up) {
        invalid_.fault = KeyFault::kMalformed;
        return {Result::kInvalid};
    }
    return found;
}

Authenticator::Record Authenticator::find(const Subject& subject, ExactSteadyTime now) {
    is_subject_ = true;
    const SubjectText text(subject);
    KnownKeys& keys = parts_.known_keys;
    const TokenHash hash = keys.hash(text);
    const auto time = std::chrono::floor<SteadyTime>(now);
    KnownKey* known = keys.find(hash, tables_, time);
    Record record;
    if (known != nullptr && !has_changed(*known)) {
        recall(*known, now);
        record = known->record;
        note_use(*known, now);
        keep_record(*known, time);
        known_ = known;
    } else {
        key_ = {parts_.context.settings().name_hash, sha256(text.view())};
        record = std::make_shared<const KeyRecord>(record_of(subject));
        id_ = id_hash(record->id, record->group);
        checked_ = time;
        attempt(parts_.context.log(), [&] {
            keep_record_of_subject(*record);
            remember(hash, record);
        });
        note_use(*record);
    }
    is_trusted_ = true;
    return record;
}

Authenticator::Found Authenticator::accept(const redis::Lookup& lookup) {
    is_trusted_ = lookup.outcome == redis::Lookup::Outcome::kFound &&
                  is_valid_at(lookup.record, parts_.context.clock().wall());
    if (!is_trusted_) {
        invalid_ = fault_of(lookup, parts_.context.clock().wall());
        return {Result::kInvalid};
    }
    Found found{Result::kValid, std::make_shared<const KeyRecord>(lookup.record)};
    id_ = id_hash(found.record->id, found.record->group);
    note_use(*found.record);
    return found;
}

/// Whether a change of a known key or its id was announced since its record was made: a ban began
/// or was lifted, for example.
bool Authenticator::has_changed(const KnownKey& known) {
    const Zone& zone = parts_.context.zone();
    changed_ = zone.last_change(known.key.redis, known.key.digest, known.quota.id_hash);
    return known.checked <= changed_ ||
           (known.group &&
            known.checked <= zone.last_change(known.group_key.redis, known.group_key.digest));
}

/// Whether the record of a known key may be used without asking again.
bool Authenticator::is_current(const KnownKey& known, ExactSteadyTime now) {
    return !has_changed(known) &&
           parts_.changes.is_fresh(known.checked, std::chrono::floor<SteadyTime>(now));
}

/// Whether a record has certainly changed since it was looked up at `checked`. Then it is not
/// served while Redis is unreachable: the key may have been revoked.
bool Authenticator::is_outdated(const KeyCache::Key& key, const IdHash& id,
                                SteadyTime checked) const {
    return checked <= parts_.context.zone().last_made_change(key.redis, key.digest, id);
}

/// Authenticates the request by a known key.
void Authenticator::recall(const KnownKey& known, ExactSteadyTime now) {
    key_ = known.key;
    id_ = known.quota.id_hash;
    checked_ = known.checked;
    statistics_ = known.statistics;
    is_trusted_ = now - known.checked < parts_.context.settings().stale_keys;
}

/// Notes that the request uses this key: without a lock of the zone if the worker has noted its
/// use.
void Authenticator::note_use(KnownKey& known, ExactSteadyTime now) noexcept {
    is_use_noted_ = true;
    if (now >= known.use_noted_until) {
        known.use_noted_until = parts_.uses.end_of_minute();
        parts_.uses.note(known.key, *known.record, use_kind());
    }
}

/// Marks the record of a known key in the zone as used, now and then. A record that was evicted is
/// stored again, for the other workers, and for an outage.
void Authenticator::keep_record(KnownKey& known, SteadyTime now) const noexcept {
    if (now - known.touched < kTouchInterval) {
        return;
    }
    known.touched = now;
    attempt(parts_.context.log(), [&] {
        const LockedStripe stripe(parts_.context.zone(), known.key);
        if (!stripe.keys().touch(known.key, now) && !stripe.keys().is_unknown(known.key)) {
            stripe.keys().put(known.key, *known.record, known.checked);
        }
    });
    if (known.group) {
        attempt(parts_.context.log(), [&] {
            const LockedStripe stripe(parts_.context.zone(), known.group_key);
            if (!stripe.keys().touch(known.group_key, now)) {
                stripe.keys().put(known.group_key, *known.group, known.checked);
            }
        });
    }
}

/// The zone has the record of a subject for the notes of its use (see note_use), and for its
/// limits.
void Authenticator::keep_record_of_subject(const KeyRecord& record) const {
    const LockedStripe stripe(parts_.context.zone(), key_);
    if (!stripe.keys().touch(key_, checked_)) {
        stripe.keys().put(key_, record, checked_);
    }
}

Authenticator::Found Authenticator::find_in_zone() {
    RedisStatistics& statistics = parts_.context.statistics();
    Zone& zone = parts_.context.zone();
    const SteadyTime now = parts_.context.steady_time();
    KeyCache::Found found;
    const bool is_cached = LockedStripe(zone, key_).keys().find(key_, now, found);
    const SteadyTime announced = zone.last_change(key_.redis, key_.digest);
    if (found.exists || is_recent(announced, now) || (is_cached && announced >= found.checked)) {
        priority_ = KeyLookups::Priority::kKnown;
    }
    if (!is_cached || is_outdated(key_, found.id, found.checked)) {
        return {Result::kLookup};
    }
    const bool is_fresh =
        found.checked > std::max(announced, zone.last_change(key_.redis, found.id)) &&
        parts_.changes.is_fresh(found.checked, now);
    if (is_fresh) {
        (found.exists ? statistics["key_cache_lookups.hit"]
                      : statistics["key_cache_lookups.negative_hit"])
            .add();
    }
    if (!found.exists || !is_valid_at(found.record, parts_.context.clock().wall())) {
        invalid_ = fault_of(found.exists, found.record, parts_.context.clock().wall());
        return {is_fresh ? Result::kInvalid : Result::kLookup};
    }
    Record record = std::allocate_shared<const KeyRecord>(SpareAllocator<KeyRecord, 1>(),
                                                          std::move(found.record));
    used_ = found.used;
    checked_ = found.checked;
    id_ = found.id;
    is_trusted_ = now - found.checked < parts_.context.settings().stale_keys;
    return {is_fresh ? Result::kValid : Result::kLookup, std::move(record)};
}

/// The record was just found in the zone: the next request with this token needs neither SHA-256
/// nor the zone for it. The caller notes the use of the key. Throws std::bad_alloc.
void Authenticator::remember(const TokenHash& token, const Record& record) {
    if (!parts_.known_keys.admits(token, tables_)) {
        return;
    }
    const auto quotas = tables_.quotas_of(*record);
    const bool has_group = tables_.counts_groups() && !record->group.empty();
    if (!quotas || (quotas->empty() && !has_group)) {
        return;
    }
    KnownKey& known = parts_.known_keys.place_for(token, tables_);
    parts_.slices.end(known.quota);
    const SteadyTime now = parts_.context.steady_time();
    known = {.token = token,
             .tables = &tables_,
             .key = key_,
             .record = record,
             .statistics = tables_.statistics_of(record.get()),
             .checked = checked_,
             .touched = now,
             .used = now,
             .use_noted_until = parts_.uses.end_of_minute(),
             .quota = {
                 .record = record.get(), .quotas = quotas, .api_key = key_.hash(), .id_hash = id_}};
}

/// The key of the request is valid: notes that it is used, at most once a minute.
void Authenticator::note_use(const KeyRecord& record) noexcept {
    if (!std::exchange(is_use_noted_, true) && used_ != parts_.uses.minute()) {
        parts_.uses.note(key_, record, use_kind());
    }
}

}  // namespace tollgate::engine
