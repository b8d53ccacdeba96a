#pragma once

#include <hiredis/hiredis.h>

#include <optional>
#include <string_view>

#include "module/redis/protocol/reply.hpp"
#include "module/redis/topology/slot_map.hpp"

namespace tollgate::redis {

/// The limits of the reader for a reply of CLUSTER SLOTS: each slot can be a range of its own, with
/// a master and two replicas of 160 bytes each.
constexpr ReplyLimits kClusterSlotsLimits{.elements = kSlots, .bytes = std::size_t{8} << 20U};

/// What a reply of CLUSTER SLOTS says.
struct ClusterSlots {
    std::optional<SlotMap> map;  ///< nothing if the reply is not usable: ask another server
    std::string_view error;      ///< the reason then, for the log; a string literal
};

/// Reads a reply of CLUSTER SLOTS: for each range of slots an array of the first and the last slot,
/// the master, and the replicas. A server is an array of its host, its port, and more that is not
/// read. Replicas are not read.
///
/// The host is nil if the client is to use the host that it asked, `asked_host`. It is empty if a
/// server does not know its own address yet: that is the asked server too. A master with the host
/// "?" or the port 0 has no address that a client may use: its slots have no master in the map. An
/// error reply, any other deviation, two masters for one slot, more than SlotMap::kMostMasters
/// masters, and a map without a master are errors.
ClusterSlots read_cluster_slots(const redisReply& reply, std::string_view asked_host);

}  // namespace tollgate::redis
