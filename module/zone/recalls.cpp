#include "module/zone/recalls.hpp"

#include <span>

#include "module/zone/set_associative.hpp"

namespace tollgate {

namespace {

std::uint64_t recall_hash(std::uint32_t redis, const IdHash& id, std::uint64_t value) {
    return place_hash(std::span(id).first<8>(), redis) ^ value;
}

/// Stands for all ids; that of no id.
constexpr IdHash kAnyId{};

}  // namespace

void Recalls::note(std::uint32_t redis, const IdHash& id, std::uint64_t value, SteadyTime now) {
    times_.raise(recall_hash(redis, id, value), now);
    times_.raise(recall_hash(redis, kAnyId, 0), now);
}

SteadyTime Recalls::last(std::uint32_t redis, const IdHash& id, std::uint64_t value) const {
    return times_.exact(recall_hash(redis, id, value));
}

SteadyTime Recalls::last(std::uint32_t redis) const {
    // It has a place, or the floor of its set is later.
    return times_.last(recall_hash(redis, kAnyId, 0));
}

}  // namespace tollgate
