#include "module/store/key_cache.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

namespace tollgate {

namespace {

/// The offset of the stored half of a digest. SetAssociative compares the bytes before it.
constexpr std::size_t kStoredFrom = 8;

}  // namespace

KeyCache::StoredKey::StoredKey(const Key& key) : redis(key.redis) {
    std::memcpy(digest.data(), key.digest.data() + kStoredFrom, digest.size());
}

bool KeyCache::StoredKey::is(const Key& key) const {
    return redis == key.redis &&
           std::memcmp(digest.data(), key.digest.data() + kStoredFrom, digest.size()) == 0;
}

template <std::size_t kText>
KeyCache::Record<kText>::Record(const Key& whose, const KeyRecord& record, const IdHash& id,
                                SteadyTime asked)
    : key(whose),
      id_hash(id),
      checked(asked.count()),
      expires(record.expires ? std::clamp<std::int64_t>(record.expires->time_since_epoch().count(),
                                                        0, Uint48::kMax - 1) +
                                   1
                             : 0),
      id_length(static_cast<std::uint32_t>(record.id.size())),
      plan_length(static_cast<std::uint32_t>(record.plan.size())),
      limits_length(static_cast<std::uint32_t>(record.limits.size())),
      name_length(static_cast<std::uint32_t>(record.name.size())),
      active(record.active ? 1U : 0U) {
    char* to = text.data();
    for (const std::string* part : {&record.id, &record.plan, &record.limits, &record.name}) {
        to = std::ranges::copy(*part, to).out;
    }
}

template <std::size_t kText>
void KeyCache::Record<kText>::unpack(Found& found) const {
    std::string_view rest(text.data(), text.size());
    const auto read = [&](std::string& part, std::size_t length) {
        part.assign(rest.substr(0, length));  // a length may be invalid if a worker was killed
        rest.remove_prefix(part.size());
    };
    KeyRecord& record = found.record;
    read(record.id, id_length);
    read(record.plan, plan_length);
    read(record.limits, limits_length);
    read(record.name, name_length);
    record.expires.reset();
    if (const std::int64_t seconds = expires.value(); seconds != 0) {
        record.expires.emplace(std::chrono::seconds(seconds - 1));
    }
    record.active = active != 0;
    found.exists = true;
    found.id = id_hash;
    found.checked = SteadyTime(checked.value());
}

template <typename Table>
bool KeyCache::find_record(const Table& table, const Key& key, SteadyTime now, Found& found) {
    const Place place = table.find(key);
    if (!place) {
        return false;
    }
    table.touch(place, now);
    table.at(place).unpack(found);
    return true;
}

bool KeyCache::find(const Key& key, SteadyTime now, Found& found) const {
    if (find_record(small_, key, now, found) || find_record(large_, key, now, found)) {
        return true;
    }
    const Place place = unknown_.find(key);
    if (!place) {
        return false;
    }
    unknown_.touch(place, now);
    found.exists = false;
    found.checked = SteadyTime(unknown_.at(place).checked);
    return true;
}

bool KeyCache::touch(const Key& key, SteadyTime now) const {
    const auto touch_in = [&](const auto& table) {
        const Place place = table.find(key);
        if (place) {
            table.touch(place, now);
        }
        return static_cast<bool>(place);
    };
    return touch_in(small_) || touch_in(large_);
}

/// Calls `visit` with the record of the key with this Key::hash if its id has this hash. False if
/// there is none.
template <typename Visit>
bool KeyCache::visit_record(std::uint64_t hash_of_key, const IdHash& id, Visit visit) const {
    const auto visit_in = [&](const auto& table) {
        const Place place =
            table.find_hash(hash_of_key, [&](const auto& record) { return record.id_hash == id; });
        if (place) {
            visit(table.at(place));
        }
        return static_cast<bool>(place);
    };
    return visit_in(small_) || visit_in(large_);
}

std::string KeyCache::find_id(std::uint64_t hash_of_key, const IdHash& id) const {
    Found found;
    visit_record(hash_of_key, id, [&](const auto& record) { record.unpack(found); });
    return std::move(found.record.id);
}

bool KeyCache::has_id(std::uint64_t hash_of_key, const IdHash& id) const {
    return visit_record(hash_of_key, id, [](const auto& /*record*/) {});
}

void KeyCache::put(const Key& key, const KeyRecord& record, SteadyTime checked,
                   const Keeps& keeps) {
    static_assert(SmallTable::place_size() == 112, "a million keys must fit 256 MiB");
    const IdHash id = id_hash(record.id);
    const std::size_t length =
        record.id.size() + record.plan.size() + record.limits.size() + record.name.size();
    const bool is_small = length <= kSmallText;
    const bool is_large =
        !is_small && record.id.size() <= kLargestId && record.plan.size() <= kLargestPlan &&
        record.limits.size() <= kLargestLimits && record.name.size() <= kLargestName;
    // Remove first: a worker that is killed here must not leave two records of one key.
    unknown_.remove(key);
    if (!is_small) {
        small_.remove(key);
    }
    if (!is_large) {
        large_.remove(key);
    }
    const auto is_kept = [&](const auto& other) {
        Found found;
        other.unpack(found);
        return keeps(other.key.redis, found);
    };
    if (is_small) {
        small_.put_unless(is_kept, key, checked, key, record, id, checked);
    } else if (is_large) {
        large_.put_unless(is_kept, key, checked, key, record, id, checked);
    }
}

void KeyCache::put_unknown(const Key& key, SteadyTime checked) {
    small_.remove(key);
    large_.remove(key);
    unknown_.put(key, checked, key, checked);
}

}  // namespace tollgate
