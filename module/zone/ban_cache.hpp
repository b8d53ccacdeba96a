#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "module/key/digest.hpp"
#include "module/quota/quota_state.hpp"
#include "module/zone/set_associative.hpp"
#include "module/zone/uint48.hpp"

namespace tollgate {

/// Stores the bans and strikes of ids, in memory that workers share: see SetAssociative. They
/// belong to the id, not to a quota: a ban that a request learns with some plan tables applies with
/// all others. The least recently changed are evicted; Redis is then asked, because a node keeps no
/// lease of a banned id. The caller holds the lock of the id's stripe.
class BanCache {
  public:
    struct Key {
        IdHash id;
        std::uint32_t redis;  ///< as in QuotaCache::Key
        /// For SetAssociative.
        std::uint64_t hash() const;
        bool operator==(const Key&) const = default;
    };

    explicit BanCache(std::span<std::byte> memory) : entries_(memory) {}

    /// An empty one if nothing is stored.
    Ban load(const Key& key) const;
    /// Removes the entry if the ban is an empty one. Strikes are clamped to 16 bits.
    void save(const Key& key, const Ban& ban, SteadyTime now) const;

  private:
    struct Entry {
        using Key = BanCache::Key;
        Entry(const Key& whose, const Ban& ban);
        bool is(const Key& other) const { return key == other; }

        Key key;
        Uint48 until;
        Uint48 told;
        Uint48 struck_since;
        std::uint16_t strikes;
    };

  public:
    // For divide_stripe.
    using Table = SetAssociative<Entry>;

  private:
    Table entries_;
};

}  // namespace tollgate
