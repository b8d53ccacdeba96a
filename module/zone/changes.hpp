#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "module/key/api_key.hpp"
#include "module/key/digest.hpp"
#include "module/quota/redis_clock.hpp"
#include "module/zone/latest_times.hpp"

namespace tollgate {

/// When the node noticed the last change in Redis of each id and each key, and when that change was
/// made. Stored by hash, in memory that workers share. Ids that have no place any more share the
/// times of the others of their set (see LatestTimes), as if they had changed then. The caller of
/// note() holds the lock of the node; reading needs none.
class Changes {
  public:
    /// A view of shared memory that is initially zero. Throws std::length_error if there are fewer
    /// than two sets.
    explicit Changes(std::span<LatestTimes::Set> sets);

    /// Records a change of an id or of a digest (in hexadecimal), which was made at `made` and is
    /// noticed now. A name that may be either is recorded as both. It was not made after `now`.
    void note(std::uint32_t redis, std::string_view name, SteadyTime now, SteadyTime made);
    /// Records a change of an id or of a digest (in hexadecimal) that is announced now: it was made
    /// at `now`. A name that may be either is recorded as both.
    void note(std::uint32_t redis, std::string_view name, SteadyTime now) {
        note(redis, name, now, now);
    }
    /// Records a change of an id or of a digest (in hexadecimal) that is read later: it was made
    /// between `earliest` and `latest`. A change that was noted as made since `earliest` is the
    /// same one. A name that may be either is recorded as both.
    void note_read(std::uint32_t redis, std::string_view name, SteadyTime now, SteadyTime earliest,
                   SteadyTime latest);
    /// When the last change was noticed; 0 if there was none. A record that is not newer has to be
    /// looked up again.
    SteadyTime last(std::uint32_t redis, const IdHash& id) const;
    SteadyTime last(std::uint32_t redis, const KeyDigest& digest) const;
    /// When the last change of the key with this KeyCache::Key::hash was noticed; 0 if there was
    /// none.
    SteadyTime last(std::uint64_t key_hash) const { return noticed_.last(key_hash); }
    /// When the last change was made, as far as the clock of Redis tells; 0 if there was none. A
    /// record that is not newer is outdated.
    SteadyTime last_made(std::uint32_t redis, const IdHash& id) const;
    SteadyTime last_made(std::uint32_t redis, const KeyDigest& digest) const;

    /// How many ids and digests have times of their own.
    std::size_t size() const { return noticed_.places(); }

  private:
    LatestTimes noticed_;
    LatestTimes made_;
};

}  // namespace tollgate
