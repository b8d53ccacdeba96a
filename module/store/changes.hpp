#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "module/key/api_key.hpp"
#include "module/quota/redis_clock.hpp"
#include "module/store/id_hash.hpp"

namespace tollgate {

/// When the node noticed the last change in Redis of each id and each key, and when that change was
/// made. Stored by hash, in memory that workers share. Ids that share a slot share both times; a
/// false match costs one look-up. The caller of note() holds the lock of the node; reading needs
/// none.
class Changes {
  public:
    /// A view of shared memory that is initially zero. Uses a power of two of the slots. Throws
    /// std::length_error if there is no slot.
    explicit Changes(std::span<std::uint64_t> slots);

    /// Records a change of an id or of a digest (in hexadecimal), which was made at `made` and is
    /// noticed now. A name that may be either is recorded as both. `made` is recorded as at most
    /// 69 minutes before `now`.
    void note(std::uint32_t redis, std::string_view name, SteadyTime now, SteadyTime made);
    /// The same for a change that is announced now.
    void note(std::uint32_t redis, std::string_view name, SteadyTime now) {
        note(redis, name, now, now);
    }
    /// The same for a change that is read later: it was made between `earliest` and `latest`. A
    /// change that was noted as made since `earliest` is the same one.
    void note_read(std::uint32_t redis, std::string_view name, SteadyTime now, SteadyTime earliest,
                   SteadyTime latest);
    /// When the last change was noticed; 0 if there was none. A record that is not newer has to be
    /// looked up again.
    SteadyTime last(std::uint32_t redis, const IdHash& id) const;
    SteadyTime last(std::uint32_t redis, const KeyDigest& digest) const;
    /// When the last change was made, as far as the clock of Redis tells; 0 if there was none. A
    /// record that is not newer is outdated.
    SteadyTime last_made(std::uint32_t redis, const IdHash& id) const;
    SteadyTime last_made(std::uint32_t redis, const KeyDigest& digest) const;

    std::size_t size() const { return slots_.size(); }

  private:
    template <typename Made>
    void mark(std::uint32_t redis, std::string_view name, SteadyTime now, Made made);
    std::uint64_t& slot(std::uint32_t redis, std::span<const unsigned char> hash) const;
    std::uint64_t read(std::uint32_t redis, std::span<const unsigned char> hash) const;

    /// When a change was noticed, and in the lower bits how long before it was made, in ms.
    std::span<std::uint64_t> slots_;
};

}  // namespace tollgate
