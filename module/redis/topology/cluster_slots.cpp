#include "module/redis/topology/cluster_slots.hpp"

#include <algorithm>

namespace tollgate::redis {

namespace {

using Elements = std::span<const redisReply* const>;

std::optional<Slot> slot_in(const redisReply& reply) {
    if (reply.type != REDIS_REPLY_INTEGER || reply.integer < 0 || reply.integer >= kSlots) {
        return std::nullopt;
    }
    return static_cast<Slot>(reply.integer);
}

/// What the array of a server says.
struct Server {
    bool is_valid = false;
    std::optional<ServerAddress> address;  ///< nothing if clients may not use it
};

Server server_in(const redisReply& reply, std::string_view asked_host) {
    const Elements fields = elements_of(reply);
    if (fields.size() < 2 || fields[1]->type != REDIS_REPLY_INTEGER) {
        return {};
    }
    const bool is_nil = fields[0]->type == REDIS_REPLY_NIL;
    if (!is_nil && fields[0]->type != REDIS_REPLY_STRING) {
        return {};
    }
    const auto text = text_of(*fields[0]);
    const auto port = fields[1]->integer;
    if (text == "?" || port == 0) {
        return {.is_valid = true, .address = std::nullopt};
    }
    const auto address = make_server_address(text.empty() ? asked_host : text, port);
    return {.is_valid = address.has_value(), .address = address};
}

/// Reads one range into the map. Returns the error; empty if there is none.
std::string_view read_range(const redisReply& reply, std::string_view asked_host, SlotMap& map) {
    const Elements fields = elements_of(reply);
    if (fields.size() < 3) {
        return "a range is not an array of two slots and a master";
    }
    const auto first = slot_in(*fields[0]);
    const auto last = slot_in(*fields[1]);
    if (!first || !last || *first > *last) {
        return "a range is not within the slots 0 to 16383";
    }
    const Server master = server_in(*fields[2], asked_host);
    if (!master.is_valid) {
        return "a master has no valid address";
    }
    if (!master.address) {
        return {};
    }
    // Each slot is looked at once: a range that overlaps another one ends the reading.
    for (unsigned slot = *first; slot <= *last; ++slot) {
        if (map.master_of(static_cast<Slot>(slot))) {
            return "a slot has two masters";
        }
    }
    return map.assign(*first, *last, *master.address) ? std::string_view() : "too many masters";
}

}  // namespace

ClusterSlots read_cluster_slots(const redisReply& reply, std::string_view asked_host) {
    if (reply.type != REDIS_REPLY_ARRAY) {
        return {.map = std::nullopt, .error = "not an array"};
    }
    SlotMap map;
    for (const redisReply* range : elements_of(reply)) {
        if (const auto error = read_range(*range, asked_host, map); !error.empty()) {
            return {.map = std::nullopt, .error = error};
        }
    }
    if (map.masters().empty()) {
        return {.map = std::nullopt, .error = "no slot has a master with an address"};
    }
    return {.map = std::move(map), .error = {}};
}

}  // namespace tollgate::redis
