#include "module/store/recalls.hpp"

#include <span>

#include "module/store/set_associative.hpp"

namespace tollgate {

namespace {

std::uint64_t recall_hash(std::uint32_t redis, const IdHash& id, std::uint64_t value) {
    return place_hash(std::span(id).first<8>(), redis) ^ value;
}

}  // namespace

void Recalls::note(std::uint32_t redis, const IdHash& id, std::uint64_t value, SteadyTime now) {
    times_.raise(recall_hash(redis, id, value), now);
}

SteadyTime Recalls::last(std::uint32_t redis, const IdHash& id, std::uint64_t value) const {
    return times_.exact(recall_hash(redis, id, value));
}

}  // namespace tollgate
