#pragma once

#include <array>
#include <cstdint>

#include "module/key/digest.hpp"
#include "module/quota/redis_clock.hpp"
#include "module/zone/latest_times.hpp"

namespace tollgate {

/// When the node noticed the last recall of the leases of an id, or of a value of it (see
/// is_recalled), in memory that workers share; all zeros at first. Of more ids at once than it has
/// places for, the earliest recalls are forgotten: their units come back when the leases are idle.
/// The caller of note() holds the lock of the node; reading needs none.
class Recalls {
  public:
    using Memory = std::array<LatestTimes::Set, 64>;

    explicit Recalls(Memory& memory) : times_(memory) {}

    /// The leases of this id are recalled now; with a ValueDigest::number, those of this value.
    void note(std::uint32_t redis, const IdHash& id, std::uint64_t value, SteadyTime now);
    /// 0 if there was none, or if it is forgotten.
    SteadyTime last(std::uint32_t redis, const IdHash& id, std::uint64_t value) const;
    /// When the last recall of leases of any id or value in this Redis was noticed. It is never
    /// forgotten.
    SteadyTime last(std::uint32_t redis) const;

  private:
    LatestTimes times_;
};

}  // namespace tollgate
