#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "module/redis/topology/key_slot.hpp"
#include "module/redis/topology/slot_map.hpp"
#include "t/unit/engine/simulated_redis.hpp"
#include "t/unit/engine/timeline.hpp"

namespace tollgate::engine {

/// A server of a simulation.
struct SimulatedServer {
    redis::ServerAddress address;
    SimulatedRedis redis{};
    std::chrono::milliseconds clock{};  ///< how far its clock is ahead
    std::int64_t calls = 0;             ///< that reached it, also those that it redirected
};

/// The masters of a simulated cluster. Slots can move between them, as with `redis-cli --cluster
/// reshard`: MIGRATING and IMPORTING, then each key, then the slot.
class SimulatedCluster {
  public:
    /// The slots are divided equally.
    SimulatedCluster(Timeline& timeline, int masters) : timeline_(timeline) {
        for (int i = 0; i < masters; ++i) {
            servers.push_back({{"10.0.0.1", static_cast<std::uint16_t>(7000 + i)}});
        }
        for (int slot = 0; slot < redis::kSlots; ++slot) {
            owners_.push_back(static_cast<std::size_t>(slot * masters / redis::kSlots));
        }
    }

    /// Whether the slot's master executes the calls of this slot's keys, or else the error.
    std::string error_of(const SimulatedServer& server, const redis::Call& call) const {
        const auto slot = redis::key_slot(SimulatedRedis::keys_of(call).front());
        const SimulatedServer& owner = servers[owners_[slot]];
        const auto migration = migrations_.find(slot);
        if (migration == migrations_.end()) {
            return &server == &owner ? "" : redirection("MOVED", slot, owner);
        }
        const auto& [target, phase] = migration->second;
        if (&server == &owner) {
            return phase == Phase::kBefore   ? ""
                   : phase == Phase::kDuring ? "TRYAGAIN Multiple keys request during rehashing"
                                             : redirection("ASK", slot, servers[target]);
        }
        if (&server != &servers[target] || !call.asking) {
            return redirection("MOVED", slot, owner);
        }
        return phase == Phase::kAfter ? "" : "TRYAGAIN Multiple keys request during rehashing";
    }

    /// The slot map, as each server has it.
    redis::SlotMap map() const {
        redis::SlotMap map;
        for (redis::Slot first = 0; first < redis::kSlots;) {
            auto end = first;
            while (end < redis::kSlots && owners_[end] == owners_[first]) {
                ++end;
            }
            map.assign(first, static_cast<redis::Slot>(end - 1), servers[owners_[first]].address);
            first = end;
        }
        return map;
    }

    /// The master that has the counts of this id.
    SimulatedServer& server_of(std::string_view id) {
        const auto slot = redis::key_slot(id);
        const auto migration = migrations_.find(slot);
        return servers[migration != migrations_.end() && migration->second.phase != Phase::kBefore
                           ? migration->second.target
                           : owners_[slot]];
    }
    SimulatedServer& server_at(const redis::ServerAddress& address) {
        return *std::ranges::find(servers, address, &SimulatedServer::address);
    }

    /// Moves the slot of an id to the next master. Half of the time passes before its keys move. A
    /// tenth of it passes while some keys have moved and others have not.
    void move_slot(const std::string& id, std::chrono::milliseconds lasting) {
        const auto slot = redis::key_slot(id);
        const auto target = (owners_[slot] + 1) % servers.size();
        if (!migrations_.emplace(slot, Migration{target, Phase::kBefore}).second) {
            return;
        }
        timeline_.at(timeline_.now() + lasting / 2, [=, this] {
            migrations_.at(slot).phase = Phase::kDuring;
            servers[target].redis.counts.take(servers[owners_[slot]].redis.counts, id);
        });
        timeline_.at(timeline_.now() + lasting * 6 / 10,
                     [=, this] { migrations_.at(slot).phase = Phase::kAfter; });
        timeline_.at(timeline_.now() + lasting, [=, this] {
            owners_[slot] = target;
            migrations_.erase(slot);
            ++moved;
        });
    }

    std::deque<SimulatedServer> servers;
    int moved = 0;  ///< slots

  private:
    enum class Phase { kBefore, kDuring, kAfter };
    struct Migration {
        std::size_t target;
        Phase phase;  ///< of the keys
    };

    static std::string redirection(const char* code, redis::Slot slot,
                                   const SimulatedServer& server) {
        return std::string(code) + ' ' + std::to_string(slot) + ' ' + to_text(server.address);
    }

    Timeline& timeline_;
    std::vector<std::size_t> owners_;  ///< of each slot
    std::map<redis::Slot, Migration> migrations_;
};

}  // namespace tollgate::engine
