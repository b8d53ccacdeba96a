#include "module/zone/key_cache.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace tollgate {

namespace {

/// The offset of the stored half of a digest. SetAssociative compares the bytes before it.
constexpr std::size_t kStoredFrom = 8;

/// Separates the details. No detail contains it.
constexpr char kSeparator = '\0';

/// The last detail of few keys: whether the key is retiring, and why it has ended.
struct Mark {
    std::string_view text;
    bool retiring;
    KeyFault ended;
};

/// Every mark. Most keys have the first. A key that has ended is not retiring.
constexpr std::array kMarks{Mark{"", false, KeyFault::kNone}, Mark{"r", true, KeyFault::kNone},
                            Mark{"v", false, KeyFault::kRevoked}};

const Mark& mark_of(const KeyRecord& record) {
    const bool retiring = record.retiring && record.ended == KeyFault::kNone;
    const auto* mark = std::ranges::find_if(kMarks, [&](const Mark& each) {
        return each.ended == record.ended && each.retiring == retiring;
    });
    return mark == kMarks.end() ? kMarks.front() : *mark;
}

/// The largest details that parts can continue: with separators and a mark.
constexpr std::size_t kLargestDetails = kLongestDetails + kDetails.size() + 1;

/// All of kDetails, and a mark. Most keys have few of them.
std::string details_of(const KeyRecord& record) {
    std::string details;
    for (const auto detail : kDetails) {
        details.append(record.*detail).append(1, kSeparator);
    }
    details.append(mark_of(record).text);
    details.resize(details.find_last_not_of(kSeparator) + 1);
    return details;
}

void unpack_details(std::string_view details, KeyRecord& record) {
    for (const auto detail : kDetails) {
        std::string& text = record.*detail;
        if (details.empty()) {
            text.clear();
            continue;
        }
        text.assign(details.substr(0, details.find(kSeparator)));
        details.remove_prefix(std::min(text.size() + 1, details.size()));
    }
    const auto* mark = std::ranges::find(kMarks, details, &Mark::text);
    record.retiring = mark != kMarks.end() && mark->retiring;
    record.ended = mark == kMarks.end() ? KeyFault::kNone : mark->ended;
}

/// Takes the text after the last separator.
std::string take_last(std::string& text) {
    const auto end = text.rfind(kSeparator);
    if (end == std::string::npos) {
        return "";
    }
    std::string last(text, end + 1);
    text.resize(end);
    return last;
}

/// The plan, the group and the billing day. Few keys have one of the last two.
std::string plan_text(const KeyRecord& record) {
    std::string text = record.plan;
    if (!record.group.empty() || !record.billing_day.empty()) {
        text.append(1, kSeparator).append(record.group);
    }
    if (!record.billing_day.empty()) {
        text.append(1, kSeparator).append(record.billing_day);
    }
    return text;
}

void unpack_plan(KeyRecord& record) {
    const bool has_day = std::ranges::count(record.plan, kSeparator) > 1;
    record.billing_day = has_day ? take_last(record.plan) : "";
    record.group = take_last(record.plan);
}

std::uint64_t clamp_time(SteadyTime time) {
    constexpr std::int64_t kLast = (std::int64_t{1} << 40U) - 1;  // 34 years since the start
    return static_cast<std::uint64_t>(std::clamp<std::int64_t>(time.count(), 0, kLast));
}

std::uint64_t stored_expiry(const KeyRecord& record) {
    constexpr std::int64_t kLast = (std::int64_t{1} << 36U) - 2;  // the year 4147
    return record.expires ? static_cast<std::uint64_t>(std::clamp<std::int64_t>(
                                record.expires->time_since_epoch().count(), 0, kLast)) +
                                1
                          : 0;
}

}  // namespace

KeyCache::StoredKey::StoredKey(const Key& key) : redis(key.redis) {
    std::memcpy(digest.data(), key.digest.data() + kStoredFrom, digest.size());
}

bool KeyCache::StoredKey::is(const Key& key) const {
    return redis == key.redis &&
           std::memcmp(digest.data(), key.digest.data() + kStoredFrom, digest.size()) == 0;
}

template <std::size_t kText>
KeyCache::Record<kText>::Record(const Part& its_part, const KeyRecord& record,
                                std::string_view plan, std::string_view details, const IdHash& id,
                                SteadyTime asked, Minute last_used)
    : key(its_part.key),
      id_hash(id),
      checked(clamp_time(asked)),
      limits_length(record.limits.size()),
      used(last_used),
      expires(stored_expiry(record)),
      id_length(record.id.size()),
      plan_length(plan.size()),
      active(record.active ? 1U : 0U),
      continues(0),
      details_length(details.size()) {
    char* to = text.data();
    for (const std::string_view whole :
         {std::string_view(record.id), plan, std::string_view(record.limits), details}) {
        const auto room = static_cast<std::size_t>(text.data() + text.size() - to);
        to = std::ranges::copy(whole.substr(0, room), to).out;
    }
}

template <std::size_t kText>
KeyCache::Record<kText>::Record(const Part& its_part, std::string_view its_text, SteadyTime asked)
    : key(its_part.key),
      checked(clamp_time(asked)),
      limits_length(its_part.number),
      used(0),
      expires(0),
      id_length(0),
      plan_length(0),
      active(0),
      continues(1),
      details_length(its_text.size()) {
    std::ranges::copy(its_text, text.data());
}

template <std::size_t kText>
std::size_t KeyCache::Record<kText>::head_length() const {
    return std::size_t{id_length} + plan_length + limits_length;
}

template <std::size_t kText>
std::uint32_t KeyCache::Record<kText>::last_part() const {
    const std::size_t length = head_length() + details_length;
    return length <= kText
               ? 0
               : static_cast<std::uint32_t>((length - kText + kSmallText - 1) / kSmallText);
}

template <std::size_t kText>
void KeyCache::Record<kText>::unpack(Found& found) const {
    std::string_view rest(text.data(), text.size());
    const auto read = [&](std::string& word, std::size_t length) {
        word.assign(rest.substr(0, length));  // a length may be invalid if a worker was killed
        rest.remove_prefix(word.size());
    };
    KeyRecord& record = found.record;
    read(record.id, id_length);
    read(record.plan, plan_length);
    unpack_plan(record);
    read(record.limits, limits_length);
    record.expires.reset();
    if (expires != 0) {
        record.expires.emplace(std::chrono::seconds(expires - 1));
    }
    record.active = active != 0;
    found.exists = true;
    found.id = id_hash;
    found.checked = SteadyTime(checked);
    found.used = static_cast<Minute>(used);
}

/// Calls `use` with the text of each part that continues the record, in their order, and marks the
/// part as used now. False if one of them is missing.
template <typename First, typename Use>
bool KeyCache::use_parts(const First& record, const Key& key, SteadyTime now, Use use) const {
    const std::uint32_t last = record.last_part();
    for (std::uint32_t number = 1; number <= last; ++number) {
        const TablePosition place = small_.find({key, number});
        // A worker that was killed may have left a part of another version of the record.
        if (!place || small_.at(place).checked != record.checked) {
            return false;
        }
        small_.touch(place, now);
        const auto& part = small_.at(place);
        use(std::string_view(part.text.data(), part.text.size()).substr(0, part.details_length));
    }
    return true;
}

template <typename Table>
bool KeyCache::find_record(const Table& table, const Key& key, SteadyTime now, Found& found) const {
    const TablePosition place = table.find({key});
    if (!place) {
        return false;
    }
    table.touch(place, now);
    const auto& record = table.at(place);
    const std::size_t head = std::min(record.head_length(), record.text.size());
    std::string_view details(
        record.text.data() + head,
        std::min<std::size_t>(record.text.size() - head, record.details_length));
    std::string joined;
    if (details.size() < record.details_length) {
        joined = details;
        if (!use_parts(record, key, now, [&](std::string_view text) { joined += text; })) {
            return false;
        }
        details = joined;
    }
    record.unpack(found);
    unpack_details(details, found.record);
    return true;
}

bool KeyCache::find(const Key& key, SteadyTime now, Found& found) const {
    if (find_record(small_, key, now, found) || find_record(large_, key, now, found)) {
        return true;
    }
    const TablePosition place = unknown_.find(key);
    if (!place) {
        return false;
    }
    unknown_.touch(place, now);
    found.exists = false;
    found.checked = SteadyTime(unknown_.at(place).checked);
    return true;
}

template <typename Table>
bool KeyCache::touch_record(const Table& table, const Key& key, SteadyTime now) const {
    const TablePosition place = table.find({key});
    if (!place) {
        return false;
    }
    table.touch(place, now);
    return use_parts(table.at(place), key, now, [](std::string_view /*text*/) {});
}

bool KeyCache::touch(const Key& key, SteadyTime now) const {
    return touch_record(small_, key, now) || touch_record(large_, key, now);
}

KeyRecord KeyCache::find_head(std::uint64_t hash_of_key, const IdHash& id) const {
    Found found;
    const auto find_in = [&](const auto& table) {
        const TablePosition place =
            table.find_hash(hash_of_key, [&](const auto& record) { return record.is_of(id); });
        if (place) {
            table.at(place).unpack(found);
        }
        return static_cast<bool>(place);
    };
    find_in(small_) || find_in(large_);
    return std::move(found.record);
}

/// Calls `use` with the record of the key, which it may change. False if there is none.
template <typename Use>
bool KeyCache::with_record(const Key& key, Use use) const {
    const auto use_in = [&](const auto& table) {
        const TablePosition place = table.find({key});
        if (place) {
            use(table.at(place));
        }
        return static_cast<bool>(place);
    };
    return use_in(small_) || use_in(large_);
}

bool KeyCache::note_use(const Key& key, Minute minute) const {
    bool is_first = true;
    with_record(key, [&](auto& record) {
        is_first = record.used != minute;
        record.used = minute;
    });
    return is_first;
}

/// The number of the last part that continues the key's record; 0 if there is none.
std::uint32_t KeyCache::last_part(const Key& key) const {
    std::uint32_t last = 0;
    with_record(key, [&](const auto& record) { last = record.last_part(); });
    return last;
}

void KeyCache::remove_parts(const Key& key, std::uint32_t from, std::uint32_t last) const {
    for (std::uint32_t number = from; number <= last; ++number) {
        small_.remove({key, number});
    }
}

/// Removes the record of the key, if there is one.
void KeyCache::remove(const Key& key) const {
    const std::uint32_t last = last_part(key);
    small_.remove({key});
    large_.remove({key});
    remove_parts(key, 1, last);
}

void KeyCache::put(const Key& key, const KeyRecord& record, SteadyTime checked) {
    static_assert(SmallTable::place_size() == 112, "SIZING.md shows it");
    const IdHash id = id_hash(record.id, record.group);
    const std::string plan = plan_text(record);
    const std::string details = details_of(record);
    const std::size_t head = record.id.size() + plan.size() + record.limits.size();
    static_assert(kLargestDetails < 1U << kDetailsBits);
    const bool is_short = record.id.size() <= kLongestId && record.plan.size() <= kLongestId &&
                          record.group.size() <= kLongestId &&
                          record.billing_day.size() <= kLongestBillingDay && head <= kLargeText &&
                          record.limits.size() <= kLargestLimits &&
                          details.size() <= kLargestDetails;
    unknown_.remove(key);
    if (!is_short) {
        remove(key);
        return;
    }
    std::uint32_t old_last = 0;
    Minute used = 0;
    with_record(key, [&](const auto& old) {
        old_last = old.last_part();
        used = static_cast<Minute>(old.used);
    });
    // The parts first: without all of them, the record is not found.
    const std::size_t first = (head <= kSmallText ? kSmallText : kLargeText) - head;
    std::string_view rest = details;
    rest.remove_prefix(std::min(first, rest.size()));
    std::uint32_t last = 0;
    while (!rest.empty()) {
        const Part part{key, ++last};
        small_.put(part, checked, part, rest.substr(0, kSmallText), checked);
        rest.remove_prefix(std::min(kSmallText, rest.size()));
    }
    // Remove first: a worker that is killed here must not leave two records of one key.
    if (head <= kSmallText) {
        large_.remove({key});
        small_.put({key}, checked, Part{key}, record, plan, details, id, checked, used);
    } else {
        small_.remove({key});
        large_.put({key}, checked, Part{key}, record, plan, details, id, checked, used);
    }
    remove_parts(key, last + 1, old_last);
}

void KeyCache::put_unknown(const Key& key, SteadyTime checked) {
    remove(key);
    unknown_.put(key, checked, key, checked);
}

}  // namespace tollgate
