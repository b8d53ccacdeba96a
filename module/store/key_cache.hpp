#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "module/key/api_key.hpp"
#include "module/key/key_record.hpp"
#include "module/quota/redis_clock.hpp"
#include "module/store/id_hash.hpp"
#include "module/store/place_hash.hpp"
#include "module/store/set_associative.hpp"
#include "module/store/uint48.hpp"

namespace tollgate {

/// Caches key records, in memory that workers share. Long records are stored in larger places. Keys
/// that do not exist in Redis have their own places, so that a flood of them evicts no valid key.
/// The least recently used records are evicted, except those that the caller wants to keep. The
/// caller holds the lock of its stripe.
class KeyCache {
  public:
    /// Identifies a key: its digest and the name_hash of a `tollgate_redis`. Each Redis has its own
    /// keys.
    struct Key {
        std::uint32_t redis;
        KeyDigest digest;
        bool operator==(const Key&) const = default;
        /// For SetAssociative.
        std::uint64_t hash() const {
            return place_hash(std::span(digest).first<sizeof(std::uint64_t)>(), redis);
        }
    };

    struct Found {
        bool exists = false;   ///< false: Redis has no such key
        KeyRecord record;      ///< valid if `exists`
        IdHash id{};           ///< of the record's id
        SteadyTime checked{};  ///< the time of the look-up
    };

    /// Views of shared memory: see SetAssociative.
    KeyCache(std::span<std::byte> small, std::span<std::byte> large, std::span<std::byte> unknown)
        : small_(small), large_(large), unknown_(unknown) {}

    /// Copies the cached entry of the key into `found`, whose strings are reused, and marks the
    /// entry as used now. Returns false if there is none; `found` is then unchanged.
    bool find(const Key& key, SteadyTime now, Found& found) const;

    /// Marks the record of the key as used now. False if there is none.
    bool touch(const Key& key, SteadyTime now) const;

    /// Whether Redis had no such key when it was last asked.
    bool is_unknown(const Key& key) const { return static_cast<bool>(unknown_.find(key)); }

    /// Returns the id with this hash from the record of the key with this Key::hash; empty if there
    /// is no such record.
    std::string find_id(std::uint64_t hash_of_key, const IdHash& id) const;
    /// Whether find_id would find it.
    bool has_id(std::uint64_t hash_of_key, const IdHash& id) const;

    /// Whether a record of a key in this Redis (see name_hash) must not be evicted.
    using Keeps = std::function<bool(std::uint32_t redis, const Found& found)>;

    /// Stores the result of a look-up made at `checked`. A record is not stored if it is too long,
    /// or if only records that `keeps` wants to keep could be evicted. Throws std::runtime_error if
    /// OpenSSL fails.
    void put(const Key& key, const KeyRecord& record, SteadyTime checked, const Keeps& keeps);
    void put(const Key& key, const KeyRecord& record, SteadyTime checked) {
        put(key, record, checked, [](std::uint32_t, const Found&) { return false; });
    }
    void put_unknown(const Key& key, SteadyTime checked);

    Occupancy small() const { return small_.occupancy(); }
    Occupancy large() const { return large_.occupancy(); }
    Occupancy unknown() const { return unknown_.occupancy(); }

  private:
    /// A key as stored in a table: half of its digest. Together with the tag this is 160 bits, for
    /// which no second key can be constructed.
    struct StoredKey {
        explicit StoredKey(const Key& key);
        bool is(const Key& key) const;

        std::uint32_t redis;
        std::array<unsigned char, 16> digest{};
    };

    /// The texts of the record are stored one after the other in `text`.
    template <std::size_t kText>
    struct Record {
        using Key = KeyCache::Key;
        Record(const Key& whose, const KeyRecord& record, const IdHash& id, SteadyTime asked);
        bool is(const Key& other) const { return key.is(other); }
        void unpack(Found& found) const;

        StoredKey key;
        IdHash id_hash;
        Uint48 checked;
        Uint48 expires;  ///< one second more than in the record; 0: never
        std::uint32_t id_length : 7;
        std::uint32_t plan_length : 7;
        std::uint32_t limits_length : 8;
        std::uint32_t name_length : 9;
        std::uint32_t active : 1;
        std::array<char, kText> text{};
    };

    struct Unknown {
        using Key = KeyCache::Key;
        Unknown(const Key& whose, SteadyTime asked) : key(whose), checked(asked.count()) {}
        bool is(const Key& other) const { return key.is(other); }

        StoredKey key;
        std::uint32_t reserved = 0;
        std::int64_t checked;
    };

    template <typename Visit>
    bool visit_record(std::uint64_t hash_of_key, const IdHash& id, Visit visit) const;

    template <typename Table>
    static bool find_record(const Table& table, const Key& key, SteadyTime now, Found& found);

    // An issued id takes 16 bytes, a UUID 36.
    static constexpr std::size_t kSmallText = 56;
    static constexpr std::size_t kLargestId = 64;
    static constexpr std::size_t kLargestPlan = 64;
    static constexpr std::size_t kLargestName = 256;
    static constexpr std::size_t kLargestLimits = 128;
    static constexpr std::size_t kLargeText =
        kLargestId + kLargestPlan + kLargestName + kLargestLimits;

  public:
    // For divide_stripe.
    using SmallTable = SetAssociative<Record<kSmallText>>;
    using LargeTable = SetAssociative<Record<kLargeText>>;
    using UnknownTable = SetAssociative<Unknown>;

  private:
    SmallTable small_;
    LargeTable large_;
    UnknownTable unknown_;
};

}  // namespace tollgate
