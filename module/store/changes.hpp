#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "module/key/api_key.hpp"
#include "module/quota/redis_clock.hpp"
#include "module/store/id_hash.hpp"

namespace tollgate {

/// When something of an id, or of a key, was last changed in Redis, as the channel `events` tells.
/// Kept by hash, in memory that workers share: ids that fall together are taken for changed
/// together, which costs a look-up. The caller holds the zone's lock.
class Changes {
  public:
    /// A view of shared memory, of zeros at first, of which a power of two is used. Throws
    /// std::length_error for none.
    explicit Changes(std::span<SteadyTime> slots);

    /// The id or digest (in hexadecimal) was changed. What may be either counts for both.
    void note(std::uint32_t redis, std::string_view name, SteadyTime now);
    /// 0 for never.
    SteadyTime last(std::uint32_t redis, const IdHash& id) const;
    SteadyTime last(std::uint32_t redis, const KeyDigest& digest) const;

    std::size_t size() const { return slots_.size(); }

  private:
    SteadyTime& slot(std::uint32_t redis, std::span<const unsigned char> hash) const;

    std::span<SteadyTime> slots_;
};

}  // namespace tollgate
