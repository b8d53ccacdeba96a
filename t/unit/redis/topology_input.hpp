#pragma once

#include <string_view>

#include "module/redis/protocol/error_scope.hpp"
#include "module/redis/protocol/reply.hpp"
#include "module/redis/topology/cluster_slots.hpp"
#include "module/redis/topology/redirection.hpp"
#include "module/redis/topology/sentinel_replies.hpp"

namespace tollgate::redis {

/// What became of a stream of replies.
struct TopologyInput {
    int accepted = 0;              ///< number of values that were accepted
    std::string_view violation{};  ///< a property that an accepted value does not have; empty: none
};

/// Why this is no address that a server can have; empty if it is one.
inline std::string_view violation_of(const ServerAddress& address) {
    if (!is_valid_host(address.host)) {
        return "a host is not valid";
    }
    if (address.port < 1) {
        return "a port is not 1 to 65535";
    }
    if (parse_server_address(to_text(address), "") != address) {
        return "an address is not read as it was written";
    }
    return {};
}

/// The same of a slot map.
inline std::string_view violation_of(const SlotMap& map) {
    const auto masters = map.masters();
    if (masters.empty() || masters.size() > SlotMap::kMostMasters) {
        return "a map does not have 1 to kMostMasters masters";
    }
    bool is_complete = true;
    for (unsigned slot = 0; slot < kSlots; ++slot) {
        const auto master = map.master_of(static_cast<Slot>(slot));
        is_complete = is_complete && master;
        if (master && *master >= masters.size()) {
            return "a slot has a master that is not in the map";
        }
    }
    if (is_complete != map.is_complete()) {
        return "is_complete() is wrong";
    }
    for (const ServerAddress& master : masters) {
        if (const auto violation = violation_of(master); !violation.empty()) {
            return violation;
        }
    }
    return {};
}

/// Passes a stream of replies to everything of redis/topology that reads text from the network.
inline TopologyInput read_topology_input(std::string_view bytes) {
    TopologyInput input;
    const auto accept = [&](std::string_view violation) {
        ++input.accepted;
        input.violation = input.violation.empty() ? violation : input.violation;
    };
    ReplyReader reader(kClusterSlotsLimits);
    reader.feed(bytes);
    while (const ReplyPtr reply = reader.next()) {
        const auto text = text_of(*reply);
        if (const auto slots = read_cluster_slots(*reply, "asked"); slots.map) {
            accept(slots.error.empty() ? violation_of(*slots.map) : "a map has an error");
        } else if (slots.error.empty()) {
            input.violation = "a map that is not usable has no error";
        }
        if (const auto address = read_master_address(*reply)) {
            accept(violation_of(*address));
        }
        if (const auto state = read_master_state(*reply)) {
            accept(state->config_epoch < 0 ? "an epoch is below 0" : violation_of(state->address));
        }
        if (read_role(*reply) != Role::kUnknown) {
            accept({});
        }
        if (const auto redirection = read_redirection(text, "asked")) {
            accept(redirection->slot >= kSlots ? "a redirection has no slot"
                                               : violation_of(redirection->server));
        }
        if (const auto switched = read_switched_master(text)) {
            accept(switched->name.empty() ? "a master has no name"
                                          : violation_of(switched->address));
        }
        if (error_action(text) != ErrorAction::kNone) {
            accept({});
        }
        if (const auto address = parse_server_address(text, "asked")) {
            accept(violation_of(*address));
        }
    }
    return input;
}

}  // namespace tollgate::redis
