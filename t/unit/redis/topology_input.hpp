#pragma once

#include <string_view>

#include "module/redis/protocol/error_scope.hpp"
#include "module/redis/protocol/reply.hpp"
#include "module/redis/topology/cluster_slots.hpp"
#include "module/redis/topology/redirection.hpp"
#include "module/redis/topology/sentinel_replies.hpp"

namespace tollgate::redis {

/// Passes a stream of replies to everything of redis/topology that reads text from the network.
/// Returns the number of values that were accepted.
inline int read_topology_input(std::string_view bytes) {
    int accepted = 0;
    ReplyReader reader(kClusterSlotsLimits);
    reader.feed(bytes);
    while (const ReplyPtr reply = reader.next()) {
        const auto text = text_of(*reply);
        accepted += read_cluster_slots(*reply, "asked").map ? 1 : 0;
        accepted += read_master_address(*reply) ? 1 : 0;
        accepted += read_master_state(*reply) ? 1 : 0;
        accepted += read_role(*reply) != Role::kUnknown ? 1 : 0;
        accepted += read_redirection(text, "asked") ? 1 : 0;
        accepted += read_switched_master(text) ? 1 : 0;
        accepted += error_action(text) != ErrorAction::kNone ? 1 : 0;
        if (const auto address = parse_server_address(text, "asked")) {
            accepted += parse_server_address(to_text(*address), "") == address ? 1 : -1'000'000;
        }
    }
    return accepted;
}

}  // namespace tollgate::redis
