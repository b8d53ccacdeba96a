#include "module/redis/topology/slot_map.hpp"

#include <algorithm>
#include <utility>

namespace tollgate::redis {

std::optional<std::size_t> SlotMap::master_of(Slot slot) const noexcept {
    if (slot >= kSlots || owners_[slot] == kNone) {
        return std::nullopt;
    }
    return owners_[slot];
}

std::optional<std::size_t> SlotMap::assign(Slot first, Slot last, const ServerAddress& master) {
    if (first > last || last >= kSlots) {
        return std::nullopt;
    }
    auto known = indexes_.find(master);
    if (known == indexes_.end()) {
        if (masters_.size() == kMostMasters) {
            return std::nullopt;
        }
        // What can throw comes first: the two remain consistent.
        ServerAddress copy = master;
        if (masters_.size() == masters_.capacity()) {
            masters_.reserve(masters_.size() * 2 + 1);
        }
        known = indexes_.emplace(master, static_cast<Index>(masters_.size())).first;
        masters_.push_back(std::move(copy));
    }
    const auto slots = std::span(owners_).subspan(first, last - first + 1U);
    covered_ += static_cast<std::size_t>(std::ranges::count(slots, kNone));
    std::ranges::fill(slots, known->second);
    return known->second;
}

}  // namespace tollgate::redis
