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

/// What Redis last said of keys, in memory that workers share. Records that are long lie in larger
/// places than others, and keys that Redis doesn't know in places of their own, so that a flood of
/// them displaces no key that is good. The least recently used give way, but for records that the
/// caller wants kept. The caller holds the
/// zone's lock.
class KeyCache {
  public:
    /// Which key: its digest, in the Redis of a `tollgate_redis` (see name_hash), since each has
    /// keys of its own.
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
        bool exists = false;   ///< else Redis said that there is no such key
        KeyRecord record;      ///< where it exists
        IdHash id{};           ///< of the record's id
        SteadyTime checked{};  ///< when Redis was asked
    };

    /// Views of shared memory: see SetAssociative.
    KeyCache(std::span<std::byte> small, std::span<std::byte> large, std::span<std::byte> unknown)
        : small_(small), large_(large), unknown_(unknown) {}

    /// What is known of the key, into `found`, whose strings are used again; it is used now. False
    /// for nothing, and `found` stays as it is.
    bool find(const Key& key, SteadyTime now, Found& found) const;

    /// The id of this hash, as the record of the key with this Key::hash has it; empty where there
    /// is none.
    std::string find_id(std::uint64_t hash_of_key, const IdHash& id) const;

    /// Whether a record, of the key of a Redis (see name_hash), must not give way.
    using Keeps = std::function<bool(std::uint32_t redis, const Found& found)>;

    /// Redis, asked at `checked`, said this. A record too long for any place isn't kept, nor one
    /// for which others would have to give way that `keeps` wants kept. Throws std::runtime_error
    /// when OpenSSL fails.
    void put(const Key& key, const KeyRecord& record, SteadyTime checked, const Keeps& keeps);
    void put(const Key& key, const KeyRecord& record, SteadyTime checked) {
        put(key, record, checked, [](std::uint32_t, const Found&) { return false; });
    }
    void put_unknown(const Key& key, SteadyTime checked);

    Occupancy small() const { return small_.occupancy(); }
    Occupancy large() const { return large_.occupancy(); }
    Occupancy unknown() const { return unknown_.occupancy(); }

  private:
    /// A key as it lies in a table: half of its digest; with the tag that makes 160 bits, which no
    /// other key has, be it made for that.
    struct StoredKey {
        explicit StoredKey(const Key& key);
        bool is(const Key& key) const;

        std::uint32_t redis;
        std::array<unsigned char, 16> digest{};
    };

    /// The record's texts stand one after the other in `text`.
    template <std::size_t kText>
    struct Record {
        using Key = KeyCache::Key;
        Record(const Key& whose, const KeyRecord& record, const IdHash& id, SteadyTime asked);
        bool is(const Key& other) const { return key.is(other); }
        void unpack(Found& found) const;

        StoredKey key;
        IdHash id_hash;
        Uint48 checked;
        Uint48 expires;  ///< one second more than the record says; 0: never
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
    // For those who divide memory.
    using SmallTable = SetAssociative<Record<kSmallText>>;
    using LargeTable = SetAssociative<Record<kLargeText>>;
    using UnknownTable = SetAssociative<Unknown>;

  private:
    SmallTable small_;
    LargeTable large_;
    UnknownTable unknown_;
};

}  // namespace tollgate
