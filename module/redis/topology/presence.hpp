#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>

#include "module/redis/topology/key_slot.hpp"
#include "module/redis/topology/sentinel_replies.hpp"
#include "module/redis/topology/server_address.hpp"
#include "module/redis/topology/slot_map.hpp"

namespace tollgate::redis {

/// Whether servers that executed calls are still masters, as the deployment says.
enum class Presence : std::uint8_t {
    kPresent,
    kReplaced,  ///< another server is the master, or will be
    kUnknown    ///< at most half of the servers that know answer, or a failover does not end
};

/// What all Sentinels together say of a server that was the master.
struct SentinelAgreement {
    std::optional<Presence> presence;         ///< nothing: a failover is under way, ask again
    std::optional<ServerAddress> other = {};  ///< the master, if presence is kReplaced
};

/// `answers` are those of `sentinels` Sentinels. Each has the state of SENTINEL MASTER with the
/// address of GET-MASTER-ADDR-BY-NAME: the Sentinel that promotes a replica shows the old master as
/// its state, and the replica as the address as soon as it has been promoted.
SentinelAgreement agree_on_master(std::span<const MasterState> answers, std::size_t sentinels,
                                  const ServerAddress& master);

/// The slots for which a server executed calls.
using SlotsByServer = std::map<ServerAddress, std::set<Slot>>;

/// Whether each server is the master of its slots.
bool is_master_of_all(const SlotMap& map, const SlotsByServer& used);

/// What `masters` masters of a cluster together say: so many have a map with which
/// is_master_of_all() is true, and so many another one. They agree soon after a failover, and after
/// a slot has moved; a minority that disagrees for long does not know the last failover. `is_last`
/// says that the time for that is over. Nothing: ask again.
std::optional<Presence> agree_on_slots(std::size_t masters, std::size_t agreeing,
                                       std::size_t disagreeing, bool is_last);

}  // namespace tollgate::redis
