#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "module/quota/redis_clock.hpp"
#include "module/zone/named_blocks.hpp"

namespace tollgate {

/// The latest time for each hash, in memory of fixed size that workers share. Memory of zeros is an
/// empty table. If a set of seven hashes is full, the earliest time makes room: it then counts for
/// each hash of the set that has no place. So a time is never forgotten, but a hash may share an
/// earlier one of others. A hash shares its tag with one in four million others of its set.
///
/// The caller of raise() holds a lock; reading needs none, because a word that is read at once has
/// both the time and the tag. For the same reason, nothing is lost if a worker is killed meanwhile.
class LatestTimes {
  public:
    struct alignas(kCacheLine) Set {
        /// A time in ms, and in the lower bits a tag (the upper bits of the hash).
        std::array<std::uint64_t, 7> places;
        /// The latest time in ms that has no place any more.
        std::uint64_t floor;
    };

    /// Uses a power of two of the sets. Throws std::length_error if there is none.
    explicit LatestTimes(std::span<Set> sets);

    /// Records this time for the hash unless a later one is stored.
    void raise(std::uint64_t hash, SteadyTime time);
    /// A time that is not earlier than the latest one of this hash; 0 if there was none.
    SteadyTime last(std::uint64_t hash) const;
    /// The latest time of this hash if it has a place, otherwise 0.
    SteadyTime exact(std::uint64_t hash) const;

    std::size_t places() const;

  private:
    Set& set_of(std::uint64_t hash) const;

    std::span<Set> sets_;
};

}  // namespace tollgate
