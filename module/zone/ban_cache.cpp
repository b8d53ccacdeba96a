#include "module/zone/ban_cache.hpp"

#include <algorithm>
#include <limits>

#include "module/zone/set_associative.hpp"

namespace tollgate {

std::uint64_t BanCache::Key::hash() const {
    return place_hash(std::span(id).first<8>(), redis);
}

BanCache::Entry::Entry(const Key& whose, const Ban& ban)
    : key(whose),
      until(ban.until.time_since_epoch().count()),
      told(ban.told.time_since_epoch().count()),
      struck_since(ban.struck_since.count()),
      strikes(static_cast<std::uint16_t>(
          std::clamp<std::int64_t>(ban.strikes, 0, std::numeric_limits<std::uint16_t>::max()))) {}

Ban BanCache::load(const Key& key) const {
    const TablePosition place = entries_.find(key);
    if (!place) {
        return {};
    }
    const Entry& entry = entries_.at(place);
    return {.until = Instant(std::chrono::milliseconds(entry.until.value())),
            .strikes = entry.strikes,
            .struck_since = SteadyTime(entry.struck_since.value()),
            .told = Instant(std::chrono::milliseconds(entry.told.value()))};
}

void BanCache::save(const Key& key, const Ban& ban, SteadyTime now) const {
    if (ban == Ban{}) {
        entries_.remove(key);
    } else {
        entries_.put(key, now, key, ban);
    }
}

}  // namespace tollgate
