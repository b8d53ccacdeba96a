#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "module/key/api_key.hpp"
#include "module/quota/redis_clock.hpp"
#include "module/store/id_hash.hpp"

namespace tollgate {

/// The time of the last change in Redis of each id and each key, as published on the channel
/// `events`. Stored by hash, in memory that workers share. Ids that share a slot share a timestamp;
/// a false match costs one look-up. The caller of note() holds the lock of the node; reading needs
/// none.
class Changes {
  public:
    /// A view of shared memory that is initially zero. Uses a power of two of the slots. Throws
    /// std::length_error if there is no slot.
    explicit Changes(std::span<SteadyTime> slots);

    /// Records a change of an id or of a digest (in hexadecimal). A name that may be either is
    /// recorded as both.
    void note(std::uint32_t redis, std::string_view name, SteadyTime now);
    /// The time of the last change; 0 if there was none.
    SteadyTime last(std::uint32_t redis, const IdHash& id) const;
    SteadyTime last(std::uint32_t redis, const KeyDigest& digest) const;

    std::size_t size() const { return slots_.size(); }

  private:
    SteadyTime& slot(std::uint32_t redis, std::span<const unsigned char> hash) const;

    std::span<SteadyTime> slots_;
};

}  // namespace tollgate
