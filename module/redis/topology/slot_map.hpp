#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "module/redis/topology/key_slot.hpp"
#include "module/redis/topology/server_address.hpp"

namespace tollgate::redis {

/// Which master of a cluster serves each slot. read_cluster_slots() makes one.
class SlotMap {
  public:
    /// The limit that the Redis cluster specification recommends.
    static constexpr std::size_t kMostMasters = 1000;

    /// No slot has a master.
    SlotMap() : owners_(kSlots, kNone) {}

    /// The master of a slot, as an index of masters(); nothing if it is unknown, or if there is no
    /// such slot.
    std::optional<std::size_t> master_of(Slot slot) const noexcept;

    /// The masters, each once, in the order in which they were assigned. An index remains valid: a
    /// master that lost its last slot remains until the next map.
    std::span<const ServerAddress> masters() const noexcept { return masters_; }

    /// Whether each slot has a master.
    bool is_complete() const noexcept { return covered_ == kSlots; }

    /// Assigns a slot to a master, as MOVED reports it. Returns the index of the master; nothing if
    /// there is no such slot, or if it would be one master too many: the map is unchanged then.
    std::optional<std::size_t> assign(Slot slot, const ServerAddress& master) {
        return assign(slot, slot, master);
    }
    /// Assigns the slots `first` to `last`, inclusive, to a master. Returns the index of the
    /// master; nothing if there are no such slots, or if it would be one master too many: the map
    /// is unchanged then.
    std::optional<std::size_t> assign(Slot first, Slot last, const ServerAddress& master);

  private:
    using Index = std::uint16_t;
    static constexpr Index kNone = 0xffff;

    std::vector<Index> owners_;  ///< of each slot
    std::vector<ServerAddress> masters_;
    std::map<ServerAddress, Index> indexes_;  ///< of masters_
    std::size_t covered_ = 0;                 ///< number of slots that have a master
};

}  // namespace tollgate::redis
