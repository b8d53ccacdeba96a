#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <bitset>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "module/zone/held_sets.hpp"

namespace tollgate {

/// The occupancy of a table.
struct Occupancy {
    std::uint64_t size = 0;     ///< places
    std::uint64_t used = 0;     ///< used places; off by one for each worker killed in a write
    std::uint64_t evicted = 0;  ///< evicted entries since the table was created
};

/// The position of an entry in its table; false: none. Valid for one access under one lock: an
/// insertion may move the entry.
struct TablePosition {
    static constexpr std::uint32_t kNowhere = ~std::uint32_t{0};
    std::uint32_t set = kNowhere;
    std::uint32_t way = 0;
    explicit operator bool() const { return set != kNowhere; }
};

/// The hash of a key for SetAssociative: eight bytes of a digest, which are uniformly distributed,
/// combined with `owner`, which separates owners of the same digest.
inline std::uint64_t place_hash(std::span<const unsigned char, 8> digest, std::uint32_t owner) {
    std::uint64_t hash = 0;
    std::memcpy(&hash, digest.data(), sizeof(hash));
    return hash ^ owner * 0x9e3779b97f4a7c15U;  // the golden ratio spreads it over all bits
}

/// The hash of a key for SetAssociative from eight bytes that are not uniformly distributed,
/// combined with `owner`. Uses the finalizer of MurmurHash3.
inline std::uint64_t mixed_place_hash(std::span<const unsigned char, 8> bytes,
                                      std::uint32_t owner) {
    std::uint64_t hash = place_hash(bytes, owner);
    hash = (hash ^ hash >> 33U) * 0xff51afd7ed558ccdU;
    hash = (hash ^ hash >> 33U) * 0xc4ceb9fe1a85ec53U;
    return hash ^ hash >> 33U;
}

/// A hash table of fixed size in memory that workers share. Memory of zeros is an empty table. The
/// table contains no pointers. If a worker is killed while it writes an entry, only this entry is
/// lost. The caller holds the lock of the table's stripe.
///
/// A key may be in one of two sets of eight places, one set in each half of the table. If both are
/// full, an entry moves to its other set. If no entry can move, the least recently used one is
/// evicted. Nearly all places fill before the first eviction: at a load of 0.92, fewer than one
/// insertion in 100,000 evicts. Each set begins with the data that a search reads: a tag (part of
/// the hash) and a time for each place. They share a cache line if the memory is aligned to 64
/// bytes.
///
/// Entry is trivially copyable. It has a type Key with `std::uint64_t hash() const`, and `bool
/// is(const Key&) const`, which need not compare the lower half of the hash. An entry whose
/// optional `bool is_held() const` returns true is never evicted. With `due_at() const`, the time
/// before which it need not be looked at, such entries are found without a scan of the table.
template <typename Entry>
class SetAssociative {
  public:
    using Key = typename Entry::Key;

    /// The size of this number of sets, in bytes.
    static constexpr std::size_t memory_for(std::size_t sets) {
        return sizeof(Header) + held_for(sets) + sets * sizeof(Set);
    }
    /// The size of a place with its tag and time, in bytes.
    static constexpr std::size_t place_size() { return sizeof(Set) / kWays; }

    /// A view of shared memory that is aligned for Entry. Throws std::length_error if there is no
    /// room for one set.
    explicit SetAssociative(std::span<std::byte> memory)
        : header_(reinterpret_cast<Header*>(memory.data())) {
        static_assert(std::is_trivially_copyable_v<Entry> && alignof(Entry) <= alignof(Header));
        if (memory.size() < memory_for(1)) {
            throw std::length_error("no memory for one set");
        }
        std::size_t sets = (memory.size() - sizeof(Header)) / sizeof(Set);
        while (memory_for(sets) > memory.size()) {
            --sets;
        }
        half_ = static_cast<std::uint32_t>(std::min<std::size_t>(sets / 2, kMostSets / 2));
        held_ = memory.data() + sizeof(Header);
        sets_ = reinterpret_cast<Set*>(held_ + held_for(size_in_sets()));
    }

    /// The place of the key's entry.
    TablePosition find(const Key& key) const { return find(key, choose(key)); }
    /// The place of the key's entry. Faster than find if the entry is still at `place`, which find
    /// returned some time ago; it may be none.
    TablePosition find_again(TablePosition place, const Key& key) const {
        return holds(place, key, tag_of(key.hash())) ? place : find(key);
    }
    /// Loads what find_again reads at this place into the processor's cache; it may be none.
    void prefetch(TablePosition place) const {
        if (place.set < size_in_sets()) {
            const auto* entry = reinterpret_cast<const std::byte*>(&at(place));
            __builtin_prefetch(&sets_[place.set]);
            for (std::size_t i = 0; i < sizeof(Entry); i += kCacheLine) {
                __builtin_prefetch(entry + i);
            }
            __builtin_prefetch(entry + sizeof(Entry) - 1);
        }
    }
    /// The place of an entry whose key has this hash and for which `is_right` returns true.
    template <typename IsRight>
    TablePosition find_hash(std::uint64_t hash, IsRight is_right) const {
        return find(choose(hash), is_right);
    }
    /// The entry at a place that find or put has just returned.
    Entry& at(TablePosition place) const { return sets_[place.set].entries[place.way]; }
    /// Marks the entry as used now.
    void touch(TablePosition place, std::chrono::milliseconds now) const {
        auto& used_at = sets_[place.set].used_at[place.way];
        if (used_at != tick(now)) {  // an unchanged cache line stays shared
            used_at = tick(now);
        }
    }

    /// Constructs the key's entry from the arguments, in its old place or in a new one, and marks
    /// it as used now. Returns no place if all places of both sets are held.
    template <typename... Args>
    TablePosition put(const Key& key, std::chrono::milliseconds now, const Args&... args) const {
        return put_at(TablePosition{}, key, now, args...);
    }
    /// Constructs the key's entry, see put(). Faster than put() if the entry is still at `place`,
    /// which find returned; it may be none.
    template <typename... Args>
    TablePosition put_at(TablePosition place, const Key& key, std::chrono::milliseconds now,
                         const Args&... args) const {
        const auto keeps_none = [](TablePosition /*place*/) { return false; };
        return put_anywhere(keeps_none, place, key, now, args...);
    }

    /// Constructs the key's entry, see put(). A new entry takes the place of another one only if
    /// `may_replace` returns true for it and for the time since its last use, rounded down. Returns
    /// no place if there is none.
    template <typename MayReplace, typename... Args>
    TablePosition put_replacing(const MayReplace& may_replace, const Key& key,
                                std::chrono::milliseconds now, const Args&... args) const {
        const auto keeps = [&](TablePosition other) {
            const std::int64_t ticks = std::max(age(other, tick(now)) - 1, 0);
            return !may_replace(at(other), ticks * kTick);
        };
        return put_anywhere(keeps, TablePosition{}, key, now, args...);
    }

    /// Calls `change` with the entry at a place that find or put has returned, and marks it as used
    /// now. No entry was put since. The entry is lost if the worker is killed meanwhile, as in
    /// put().
    template <typename Change>
    void change(TablePosition place, std::chrono::milliseconds now, Change change) const {
        write_with(place, sets_[place.set].tags[place.way], tick(now), change);
    }

    /// Removes the key's entry, if there is one.
    void remove(const Key& key) const {
        if (const TablePosition place = find(key)) {
            sets_[place.set].tags[place.way] = 0;
            header_->used -= header_->used > 0 ? 1 : 0;
        }
    }

    /// What a visitor of a held entry returns.
    struct Visited {
        bool goes_on;                     ///< false: the visit ends with this set
        std::chrono::milliseconds again;  ///< the entry need not be visited before
    };
    /// Calls `visit` with the held entries of the sets from `set` on where one may be due, until it
    /// ends the visit, or `most` sets were visited. Returns the next set; 0 at the end. See
    /// HeldSets::visit.
    template <typename Visit>
    std::uint32_t visit_held(std::uint32_t set, std::uint32_t most, const HeldPass& pass,
                             Visit visit) const {
        return held().visit(set, most, pass, [&](std::uint32_t next) {
            bool any = false;
            Visited all{true, std::chrono::milliseconds::max()};
            for (std::uint32_t way = 0; way < kWays; ++way) {
                const Entry& entry = sets_[next].entries[way];
                if (sets_[next].tags[way] != 0 && entry.is_held()) {
                    const Visited one = visit(entry);
                    any = true;
                    all = {all.goes_on && one.goes_on, std::min(all.again, one.again)};
                }
            }
            any ? held().put_off(next, all.again, pass.now) : held().remove(next);
            return all.goes_on;
        });
    }

    Occupancy occupancy() const {
        return {std::uint64_t{size_in_sets()} * kWays, header_->used, header_->evicted};
    }

    static constexpr unsigned kWays = 8;                             ///< places of a set
    static constexpr std::size_t kChoices = std::size_t{2} * kWays;  ///< possible places of a key

  private:
    static constexpr std::size_t kMostSets = std::size_t{1} << 31U;
    static constexpr bool kHolds = requires(const Entry& entry) { entry.is_held(); };

    static constexpr bool kIsVisited = requires(const Entry& entry) { entry.due_at(); };

    /// The size of HeldSets, in whole cache lines; 0 if there are none.
    static constexpr std::size_t held_for(std::size_t sets) {
        return kIsVisited ? (HeldSets::memory_for(sets) + kCacheLine - 1) / kCacheLine * kCacheLine
                          : 0;
    }
    HeldSets held() const { return {held_, size_in_sets()}; }

    struct Header {
        std::uint64_t used;
        std::uint64_t evicted;
        std::uint64_t reserved[6];
    };

    struct Set {
        std::uint32_t tags[kWays];  ///< 0: free
        std::uint32_t used_at[kWays];
        Entry entries[kWays];
    };

    template <typename Keeps, typename... Args>
    TablePosition put_anywhere(const Keeps& keeps, TablePosition place, const Key& key,
                               std::chrono::milliseconds now, const Args&... args) const {
        const Choice choice = choose(key);
        if (!holds(place, key, choice.tag)) {
            place = find(key, choice);
        }
        if (!place) {
            place = make_room(choice, tick(now), keeps);
            if (!place) {
                return place;
            }
            ++header_->used;
        }
        write(place, choice.tag, tick(now), args...);
        return place;
    }

    /// The two sets of a key, and its tag.
    struct Choice {
        std::uint32_t tag;
        std::uint32_t left;
        std::uint32_t right;
    };

    /// The unit of times: precise enough. 2^32 units are 8 years.
    static constexpr std::chrono::milliseconds kTick{64};
    static std::uint32_t tick(std::chrono::milliseconds now) {
        return static_cast<std::uint32_t>(now / kTick);
    }
    /// The time since the last use of an entry. Signed, because the clock of another worker may be
    /// slightly ahead.
    std::int32_t age(TablePosition place, std::uint32_t now) const {
        return static_cast<std::int32_t>(now - sets_[place.set].used_at[place.way]);
    }

    /// Maps a hash of 32 bits to a set of one half.
    std::uint32_t scale(std::uint64_t hash) const {
        return static_cast<std::uint32_t>(hash * half_ >> 32U);
    }

    static std::uint32_t tag_of(std::uint64_t hash) {
        return std::max(static_cast<std::uint32_t>(hash), std::uint32_t{1});
    }

    Choice choose(const Key& key) const { return choose(key.hash()); }
    Choice choose(std::uint64_t hash) const {
        const std::uint32_t tag = tag_of(hash);
        const std::uint32_t left = scale(hash >> 32U);
        return {tag, left, other(left, tag)};
    }

    /// The other set of an entry in this set. The sum of both sets is determined by the tag, so the
    /// tag and one set determine the other set.
    std::uint32_t other(std::uint32_t set, std::uint32_t tag) const {
        const bool is_left = set < half_;
        const std::uint32_t sum = scale(tag);
        const std::uint32_t within = is_left ? set : set - half_;
        const std::uint32_t rest = sum >= within ? sum - within : sum + half_ - within;
        return is_left ? rest + half_ : rest;
    }

    /// The places that have this tag, one bit each.
    static unsigned tagged(const Set& set, std::uint32_t tag) {
        // Compares four at once; g++ 12 does not vectorize a loop at -O2.
        using Four = std::uint32_t __attribute__((vector_size(16)));
        Four low;
        Four high;
        std::memcpy(&low, set.tags, sizeof(low));
        std::memcpy(&high, set.tags + 4, sizeof(high));
        const Four equal =
            ((low == tag) & Four{1, 2, 4, 8}) | ((high == tag) & Four{16, 32, 64, 128});
        return equal[0] | equal[1] | equal[2] | equal[3];
    }

    TablePosition find(const Key& key, const Choice& choice) const {
        return find(choice, [&](const Entry& entry) { return entry.is(key); });
    }

    template <typename IsRight>
    TablePosition find(const Choice& choice, IsRight is_right) const {
        __builtin_prefetch(&sets_[choice.right]);
        for (const std::uint32_t set : {choice.left, choice.right}) {
            for (unsigned ways = tagged(sets_[set], choice.tag); ways != 0; ways &= ways - 1) {
                const auto way = static_cast<std::uint32_t>(std::countr_zero(ways));
                if (is_right(sets_[set].entries[way])) {
                    return {set, way};
                }
            }
        }
        return {};
    }

    std::uint32_t size_in_sets() const { return std::max(2 * half_, 1U); }

    bool is_held(TablePosition place) const {
        if constexpr (kHolds) {
            return at(place).is_held();
        }
        return false;
    }

    bool holds(TablePosition place, const Key& key, std::uint32_t tag) const {
        // The place may be from a table of another size.
        return place.set < size_in_sets() && place.way < kWays &&
               sets_[place.set].tags[place.way] == tag && at(place).is(key);
    }

    TablePosition free_place(std::uint32_t set) const {
        const unsigned free = tagged(sets_[set], 0);
        return free == 0 ? TablePosition{}
                         : TablePosition{set, static_cast<std::uint32_t>(std::countr_zero(free))};
    }

    template <typename Keeps>
    TablePosition make_room(const Choice& choice, std::uint32_t now, const Keeps& keeps) const {
        const auto free_in = [&](std::uint32_t set) {
            return std::popcount(tagged(sets_[set], 0));
        };
        const bool right = free_in(choice.right) > free_in(choice.left);
        if (const TablePosition free = free_place(right ? choice.right : choice.left)) {
            return free;
        }
        for (const std::uint32_t set : {choice.left, choice.right}) {
            for (std::uint32_t way = 0; way < kWays; ++way) {
                const std::uint32_t tag = sets_[set].tags[way];
                if (const TablePosition free = free_place(other(set, tag))) {
                    const Entry moving = sets_[set].entries[way];
                    sets_[set].tags[way] = 0;  // first, so that no key has two entries
                    write(free, tag, sets_[set].used_at[way], moving);
                    if constexpr (kIsVisited) {
                        held().add(free.set, {}, {});  // It may have been due for long.
                    }
                    return {set, way};
                }
            }
        }
        const TablePosition oldest = least_recently_used(choice, now, keeps);
        if (oldest) {
            ++header_->evicted;
            --header_->used;
        }
        return oldest;
    }

    /// Considers only entries that may be evicted.
    template <typename Keeps>
    TablePosition least_recently_used(const Choice& choice, std::uint32_t now,
                                      const Keeps& keeps) const {
        std::bitset<kChoices> kept;
        TablePosition oldest = least_recently_used(choice, now, kept);
        while (oldest && keeps(oldest)) {
            kept.set(place_in(choice, oldest));
            oldest = least_recently_used(choice, now, kept);
        }
        return oldest;
    }

    static std::size_t place_in(const Choice& choice, TablePosition place) {
        return (place.set == choice.left ? 0 : kWays) + place.way;
    }

    TablePosition least_recently_used(const Choice& choice, std::uint32_t now,
                                      const std::bitset<kChoices>& kept) const {
        TablePosition oldest;
        for (const std::uint32_t set : {choice.left, choice.right}) {
            for (std::uint32_t way = 0; way < kWays; ++way) {
                const TablePosition place{set, way};
                if (!is_held(place) && !kept.test(place_in(choice, place)) &&
                    (!oldest || age(place, now) > age(oldest, now))) {
                    oldest = place;
                }
            }
        }
        return oldest;
    }

    /// Constructs the entry in place, because copies of bytes that were just written are slow.
    template <typename... Args>
    void write(TablePosition place, std::uint32_t tag, std::uint32_t used_at,
               const Args&... args) const {
        write_with(place, tag, used_at, [&](Entry& entry) { std::construct_at(&entry, args...); });
    }

    /// The place is free while the entry is written: a worker may be killed between any two
    /// statements.
    template <typename Write>
    void write_with(TablePosition place, std::uint32_t tag, std::uint32_t used_at,
                    Write write) const {
        Set& set = sets_[place.set];
        set.tags[place.way] = 0;
        std::atomic_signal_fence(std::memory_order_seq_cst);
        write(set.entries[place.way]);
        if constexpr (kIsVisited) {
            if (is_held(place)) {
                held().add(place.set, at(place).due_at(), used_at * kTick);
            }
        }
        set.used_at[place.way] = used_at;
        std::atomic_signal_fence(std::memory_order_seq_cst);
        set.tags[place.way] = tag;
    }

    Header* header_;
    std::byte* held_;  ///< HeldSets, if entries are visited
    Set* sets_;
    std::uint32_t half_;  ///< sets in each half; 0: the table has a single set
};

}  // namespace tollgate
