#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "module/quota/redis_clock.hpp"
#include "module/redis/protocol/reply.hpp"
#include "module/redis/protocol/schema.hpp"
#include "module/redis/protocol/script.hpp"

// The call that shares the places of `in_flight` among the nodes.
namespace tollgate::redis {

/// The places of an id in a plan table that a node wants.
struct PlacesWanted {
    std::string_view id;
    std::string_view table;
    std::string_view node;
    std::int64_t limit = 0;   ///< of all nodes together
    std::int64_t places = 0;  ///< at least so many; with `version`, at most
    std::chrono::milliseconds lifetime{};
    /// The version of the node's places, of which it returns the rest. 0: it returns none.
    std::int64_t version = 0;
    /// Requests of the node in flight. It has places for them, also beyond the limit: they run.
    std::int64_t running = 0;
    Instant deadline{};  ///< by Redis's clock: nothing is done after it; 0: there is none
};

/// The places of the nodes after the call.
struct PlacesGiven {
    std::int64_t places = 0;   ///< of the node
    std::int64_t version = 0;  ///< increases with each change of them
    std::int64_t others = 0;   ///< of the other nodes
    /// All nodes were told a moment ago that another one wants places.
    bool is_recalled = false;
};

/// See scripts/flight.lua.
const Script& flight_script();
/// Throws std::bad_alloc.
Call flight_call(const Keys& keys, const PlacesWanted& wanted);
/// Nothing if the values are not those of the script, or if it was too late for the call.
std::optional<PlacesGiven> read_places(ReplyValues values);

}  // namespace tollgate::redis
