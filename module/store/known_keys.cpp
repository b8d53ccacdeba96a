#include "module/store/known_keys.hpp"

#include <algorithm>

namespace tollgate {

void KnownKeys::write(Text& text, std::string_view value) {
    text.length = static_cast<std::uint8_t>(value.copy(text.bytes, sizeof(text.bytes)));
}

std::string KnownKeys::read(const Text& text) {
    return {text.bytes, std::min<std::size_t>(text.length, sizeof(text.bytes))};
}

void KnownKeys::remember(const Key& key, const KeyRecord& record, Instant now) {
    Entry& entry = entries_.find_or_make(key);
    entry.last_seen = now.time_since_epoch().count();
    entry.expires = record.expires ? record.expires->time_since_epoch().count() : 0;
    write(entry.id, record.id);
    write(entry.plan, record.plan);
    write(entry.name, record.name);
}

void KnownKeys::forget(const Key& key) {
    if (Entry* entry = entries_.find(key)) {
        entry->last_seen = 0;
    }
}

std::optional<KeyRecord> KnownKeys::recall(const Key& key, Instant now,
                                           std::chrono::milliseconds age) const {
    const Entry* entry = entries_.find(key);
    if (entry == nullptr || now - Instant(std::chrono::milliseconds(entry->last_seen)) > age) {
        return std::nullopt;
    }
    KeyRecord record{.id = read(entry->id),
                     .name = read(entry->name),
                     .plan = read(entry->plan),
                     .limits = {},
                     .expires = std::nullopt,
                     .active = true};
    if (entry->expires != 0) {
        record.expires = std::chrono::sys_seconds(std::chrono::seconds(entry->expires));
    }
    return record;
}

}  // namespace tollgate
