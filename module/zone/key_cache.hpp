#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "module/key/api_key.hpp"
#include "module/key/digest.hpp"
#include "module/key/key_record.hpp"
#include "module/quota/redis_clock.hpp"
#include "module/zone/set_associative.hpp"

namespace tollgate {

/// Caches key records, in memory that workers share. A record whose id, plan, group and limits are
/// long is stored in a larger place. Name, scopes and meta that do not fit the place of their
/// record take further small places. Keys that do not exist in Redis have their own places, so that
/// a flood of them evicts no valid key. The least recently used records are evicted. The caller
/// holds the lock of its stripe.
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

    /// A minute of the wall clock, modulo 65,535; 0: none.
    using Minute = std::uint16_t;

    struct Found {
        bool exists = false;   ///< false: Redis has no such key
        KeyRecord record;      ///< valid if `exists`
        IdHash id{};           ///< of the record's id and group
        SteadyTime checked{};  ///< the time of the look-up
        Minute used = 0;       ///< the last minute that note_use() has noted
    };

    /// Views of shared memory: see SetAssociative.
    KeyCache(std::span<std::byte> small, std::span<std::byte> large, std::span<std::byte> unknown)
        : small_(small), large_(large), unknown_(unknown) {}

    /// Copies the cached entry of the key into `found`, whose strings are reused, and marks the
    /// entry as used now. Returns false if there is none; `found` is then unchanged.
    bool find(const Key& key, SteadyTime now, Found& found) const;

    /// Marks the record of the key as used now. False if there is none.
    bool touch(const Key& key, SteadyTime now) const;

    /// Notes that the key is used in this minute. False if that was noted before. True for a key
    /// without a record: it cannot be noted.
    bool note_use(const Key& key, Minute minute) const;

    /// Whether Redis had no such key when it was last asked.
    bool is_unknown(const Key& key) const { return static_cast<bool>(unknown_.find(key)); }

    /// Returns the record of the key with this Key::hash and of the id with this hash, without its
    /// details. Returns a record without an id if there is none.
    KeyRecord find_head(std::uint64_t hash_of_key, const IdHash& id) const;
    /// Stores the result of a look-up made at `checked`. A record is not stored if it is too long.
    /// Throws std::runtime_error if OpenSSL fails.
    void put(const Key& key, const KeyRecord& record, SteadyTime checked);
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

    /// A part of a record: number 0 has the id; the others continue its text.
    struct Part {
        const KeyCache::Key& key;
        std::uint32_t number = 0;
        std::uint64_t hash() const {
            return key.hash() ^ number * 0xc2b2ae3d27d4eb4fU;  // a prime, for other places
        }
    };

    /// The number of bits that store the length of the details.
    static constexpr unsigned kDetailsBits = 11;

    /// A record, or a part of one that continues it. The text of a record is its id, plan and
    /// group, limits and details, one after the other: see plan_text and details_of.
    template <std::size_t kText>
    struct Record {
        using Key = Part;
        /// A record with the begin of its text.
        Record(const Part& part, const KeyRecord& record, std::string_view plan,
               std::string_view details, const IdHash& id, SteadyTime asked, Minute last_used);
        /// A part that continues a record.
        Record(const Part& part, std::string_view its_text, SteadyTime asked);
        bool is(const Part& other) const {
            return (continues == 0 ? 0 : limits_length) == other.number && key.is(other.key);
        }
        bool is_of(const IdHash& id) const { return continues == 0 && id_hash == id; }

        /// The length of the text without the details.
        std::size_t head_length() const;
        /// The number of the last part that continues the record; 0 if there is none.
        std::uint32_t last_part() const;
        /// Sets everything except the details.
        void unpack(Found& found) const;

        StoredKey key;
        IdHash id_hash{};
        std::uint64_t checked : 40;
        std::uint64_t limits_length : 8;  ///< of a part that continues a record: its number
        std::uint64_t used : 16;
        std::uint64_t expires : 36;  ///< one second more than in the record; 0: never
        std::uint64_t id_length : 7;
        std::uint64_t plan_length : 8;  ///< see plan_text
        std::uint64_t active : 1;
        std::uint64_t continues : 1;
        std::uint64_t details_length : kDetailsBits;
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
    bool find_record(const Table& table, const Key& key, SteadyTime now, Found& found) const;
    template <typename Table>
    bool touch_record(const Table& table, const Key& key, SteadyTime now) const;
    template <typename First, typename Use>
    bool use_parts(const First& record, const Key& key, SteadyTime now, Use use) const;
    template <typename Use>
    bool with_record(const Key& key, Use use) const;
    std::uint32_t last_part(const Key& key) const;
    void remove(const Key& key) const;
    void remove_parts(const Key& key, std::uint32_t from, std::uint32_t last) const;

    // An issued id takes 16 bytes, a UUID 36.
    static constexpr std::size_t kSmallText = 56;
    static constexpr std::size_t kLargestLimits = 128;
    static constexpr std::size_t kLargeText = 2 * kLongestId + kLargestLimits;

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
