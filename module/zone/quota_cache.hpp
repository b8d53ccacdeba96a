#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "module/key/digest.hpp"
#include "module/quota/owed_units.hpp"
#include "module/quota/plain_acquire.hpp"
#include "module/quota/quota_state.hpp"
#include "module/zone/quota_owner.hpp"
#include "module/zone/set_associative.hpp"
#include "module/zone/uint48.hpp"

namespace tollgate {

/// Stores the node's state of quotas (QuotaState), packed into memory that workers share. Each has
/// its owner in clear text, by which it is found, and by which any worker can report it. Small
/// quotas (is_small) whose owner has at most kShortOwner bytes use small places. What few quotas
/// have at a time is beside their places, in a table of its own: a report, lost calls, and owed
/// units that a small place has no room for. The least recently used are evicted, except those that
/// hold a lease or owed units. These remain until any worker has reported them to Redis. A quota of
/// a value evicts only others of its id in the table, and quotas whose windows have ended. The
/// caller holds the lock of its stripe.
class QuotaCache {
  public:
    /// At most so many values of an id in a plan table are stored: a flood of values evicts others
    /// of the same id.
    static constexpr std::size_t kMostValues = 992;
    /// A small place has room for an owner of so many bytes: a UUID, or an issued id of 16 bytes
    /// and a group of 19.
    static constexpr std::size_t kShortOwner = 36;

    /// Identifies a quota: an owner in a plan table of a Redis, and a value if the table counts
    /// them. Refers to the texts of the owner.
    struct Key {
        QuotaOwner owner;     ///< without an id if only its hash is known: see StoredKey::key
        IdHash id;            ///< id_hash of the owner
        std::uint32_t redis;  ///< name_hash of the `tollgate_redis`
        std::uint32_t table;  ///< name_hash of the plan table
        WindowLayout layout;
        bool is_small;     ///< see is_small()
        bool is_in_small;  ///< stored in a small place
        /// KeyCache::Key::hash of the API key that was used last: a hint where the limits of the
        /// quota are. Not part of the identity of a quota.
        std::uint64_t api_key = 0;
        std::uint64_t place_hash = 0;  ///< of its identity; values share a few: see kMostValues
        std::uint64_t value = 0;       ///< ValueDigest::number

        /// `hash` is id_hash of the owner.
        Key(const QuotaOwner& whose, const IdHash& hash, std::uint32_t redis_id,
            const TableQuota& quota, std::uint64_t used);
        /// For SetAssociative.
        std::uint64_t hash() const { return place_hash; }

      private:
        Key(const QuotaOwner& whose, const IdHash& hash, std::uint32_t redis_id,
            std::uint32_t table_id, const QuotaShape& shape, std::uint64_t used,
            std::uint64_t value_number);
    };

    /// A key without its owner: what lies beside a quota has it. Contains only numbers, because a
    /// worker that is killed may leave invalid bytes.
    struct StoredKey {
        explicit StoredKey(const Key& key);
        bool is(const Key& key) const;
        WindowLayout layout() const;
        /// A key that finds the quota by the hash of its owner. It takes some microseconds, and
        /// stores no quota that is not stored yet.
        Key key() const;
        /// See Held::quota.
        TableQuota quota(std::string_view table_name) const;

        IdHash id;
        std::uint32_t redis;
        std::uint32_t table;
        std::array<std::uint32_t, kMaxWindows> periods;
        std::uint32_t sliding : 1;
        std::uint32_t is_small : 1;
        std::uint32_t is_in_small : 1;
        std::uint64_t api_key;
        std::uint64_t value;
    };

    /// What a held quota tells before it is unpacked. Refers to the entry.
    struct HeldSummary {
        QuotaOwner owner;
        std::uint32_t redis;
        std::uint32_t table;
        Period shortest;  ///< of its windows and buckets
        std::uint64_t value;
        HeldUnits units;

        /// For SetAssociative: that of the shortest horizon.
        SteadyTime due_at() const { return settling_due(units, SteadyTime{}); }
    };

    /// A quota that holds a lease or owed units.
    struct Held {
        StoredOwner<kLongestOwner> owner;
        std::uint64_t api_key;  ///< see Key
        std::uint32_t redis;
        std::uint32_t table;
        WindowLayout layout;
        QuotaState state;  ///< without its report and lost calls
        bool has_report;   ///< or lost calls
        bool is_small;     ///< see is_small()
        std::uint64_t value = 0;

        HeldSummary summary() const;
        /// A quota with the same windows, stored in the same kind of place. Its limits are not
        /// known, except for the rates of buckets.
        TableQuota quota(std::string_view table_name) const;
        /// id_hash of the owner. Throws std::runtime_error if OpenSSL fails.
        IdHash id() const;
    };

    /// Views of shared memory: see SetAssociative.
    QuotaCache(std::span<std::byte> small, std::span<std::byte> large, std::span<std::byte> reports)
        : small_(small), large_(large), reports_(reports) {}

    /// The stored state, or an empty one. Only save() marks the quota as used.
    QuotaState load(const Key& key) const;
    /// Loads the stored state into `state`, which is empty. Returns the quota's place, for a save()
    /// under the same lock; none if it is not stored. Faster if the quota is still at `place`,
    /// which an earlier load() returned.
    TablePosition load(const Key& key, QuotaState& state, TablePosition place = {}) const;
    /// Prepares a load() of a small quota at this place, which an earlier one returned.
    void prefetch(TablePosition place) const { small_.prefetch(place); }
    /// The quota's place; none if it is not stored.
    TablePosition find(const Key& key) const {
        return key.is_in_small ? small_.find(key) : large_.find(key);
    }

    /// Stores the state and marks the quota as used now. In a small place, counts have 32 bits and
    /// are clamped: they exceed that only where nothing depends on them, above each limit or
    /// without one. Its lease is at most most_lease(): see keep_lease. QuotaState::ban is not
    /// stored. Returns false if there is no place: all entries that could be evicted are held, or
    /// the quota is that of a value, which evicts few others; or if there is none beside the places
    /// for what needs one. The state is then as before.
    bool save(const Key& key, const QuotaState& state, SteadyTime now);
    /// Stores the state as save() without a place does, at the place that load() has returned under
    /// the same lock. No quota without a place was saved since: it may have moved others.
    bool save(TablePosition place, const Key& key, const QuotaState& state, SteadyTime now);

    /// Stores the lease and the arrivals of a state that is otherwise as load() has found it at
    /// this place, under the same lock, and marks the quota as used now. The place remains valid.
    void save_spent(TablePosition place, const Key& key, const QuotaState& state,
                    SteadyTime now) const;

    /// Whether the quota is in a small place and is_plain() holds for its stored state and requests
    /// of this cost without a ban. Does not load it. Sets `place`, which is as in load(), to where
    /// it is.
    bool is_plain(const Key& key, const TableQuota& quota, std::int64_t cost,
                  TablePosition& place) const;

    /// Changes the stored state as note_plain and apply_reply do, without loading and saving it.
    /// False if it is not stored in a small place, holds something, expects units of other nodes,
    /// or has counts that the reply does not simply replace: nothing is changed. `place` as in
    /// load().
    bool count_in_place(const Key& key, const PlainReply& reply, SteadyTime now,
                        TablePosition place = {}) const;

    /// The position of an iteration over the held quotas.
    struct Cursor {
        bool large = false;
        std::uint32_t set = 0;
        bool operator==(const Cursor&) const = default;
    };
    /// What a pass does with a held quota.
    struct Look {
        bool is_wanted;  ///< it is visited
        SteadyTime
            again;  ///< another pass need not look at it before, unless it is saved meanwhile
    };
    /// Looks at the held quotas from the cursor on that may be due, and calls `visit` with those
    /// that `look` wants, until it returns false, at most kMostVisited were visited, or a bounded
    /// number was passed. Returns true at the end; the cursor is then at the beginning. `look` is
    /// called with the HeldSummary of each: unpacking one takes several times as long.
    template <typename ToLook, typename Visit>
    bool visit_held(Cursor& cursor, const HeldPass& pass, ToLook look, Visit visit) const {
        std::size_t visited = 0;
        const auto visit_in = [&](const auto& table) {
            return table.visit_held(cursor.set, kSetsAtOnce, pass, [&](const auto& entry) {
                const Look of = look(entry.summary());
                // A set is visited as a whole.
                const bool goes_on =
                    !of.is_wanted ||
                    (visit(entry.unpack()) && ++visited <= kMostVisited - SmallTable::kWays);
                return typename std::decay_t<decltype(table)>::Visited{goes_on, of.again};
            });
        };
        cursor.set = cursor.large ? visit_in(large_) : visit_in(small_);
        if (cursor.set == 0) {
            cursor.large = !cursor.large;
        }
        return cursor.set == 0 && !cursor.large;
    }
    /// Calls `visit` with each held quota from the cursor on, until it returns false, at most
    /// kMostVisited were visited, or a bounded number was passed. Returns true at the end; the
    /// cursor is then at the beginning.
    template <typename Visit>
    bool visit_held(Cursor& cursor, Visit visit) const {
        const auto all = [](const HeldSummary& /*summary*/) { return Look{true, {}}; };
        return visit_held(cursor, HeldPass{}, all, visit);
    }
    static constexpr std::size_t kMostVisited = 32;

    /// Removes a held quota. Returns the state that it had.
    QuotaState drop(const Held& held) const;

    Occupancy small() const { return small_.occupancy(); }
    Occupancy large() const { return large_.occupancy(); }
    Occupancy reports() const { return reports_.occupancy(); }

  private:
    /// The number of sets with held quotas that one call of visit_held passes: the caller holds the
    /// lock meanwhile. A set has eight places.
    static constexpr std::uint32_t kSetsAtOnce = 16;

    /// Counts of one window.
    struct Window {
        std::uint32_t number;
        std::uint32_t count;
        std::uint32_t previous;
    };

    /// A time as a small place has it: in ms after a minute before another time, clamped to 49
    /// days; 0: none.
    static std::uint32_t time_after(Instant time, const Uint48& base);
    static Instant time_from(std::uint32_t stored, const Uint48& base);

    /// What a quota has beside its place: its report, its lost calls, or the owed units for which a
    /// small place has no room. Few quotas have one at the same time.
    struct Rest {
        using Key = QuotaCache::Key;
        Rest(const Key& whose, const QuotaState& state);
        bool is(const Key& other) const { return key.is(other); }
        bool is_held() const { return true; }

        StoredKey key;
        /// The report of the quota. In that of a small place, the adjustments after the first
        /// kMostSmallWindows are what these windows owe, in Adjustment::units and
        /// Adjustment::previous.
        Report report;
        LostCalls lost_calls;
    };

    struct Small {
        using Key = QuotaCache::Key;
        Small(const Key& key, const QuotaState& state);
        bool is(const Key& other) const;
        bool is_held() const { return lease != 0 || owes(); }
        /// Whether units are owed, or in a report, or calls are lost.
        bool owes() const {
            return has_report != 0 || has_lost_calls != 0 ||
                   std::ranges::any_of(owed,
                                       [](const Int24& units) { return units.value() != 0; }) ||
                   std::ranges::any_of(owed_previous,
                                       [](std::int16_t units) { return units != 0; });
        }
        /// Whether the quota has a Rest.
        bool has_rest() const { return has_report != 0 || has_lost_calls != 0 || is_wide != 0; }
        HeldSummary summary() const {
            return {owner.view(), redis,
                    table,        Period::of_code(first_period),
                    value(),      {owes(), lease, last_arrived(), SteadyTime(asked.value())}};
        }
        SteadyTime due_at() const {
            return settling_due({owes(), lease, last_arrived(), SteadyTime(asked.value())}, {});
        }
        SteadyTime last_arrived() const { return SteadyTime(asked.value() + last_arrival); }
        Held unpack() const;
        /// Into an empty state; all but the report and lost calls. Owed units that are wide are
        /// clamped.
        void unpack(QuotaState& state) const;
        /// Adds what is in the rest.
        void unpack(const Rest& rest, QuotaState& state) const;
        Arrivals arrivals() const;
        /// Stores what depends on the state, and the key that was used.
        void set(const QuotaState& state, std::uint64_t used);
        /// See save_spent. Valid at any time: a worker may be killed meanwhile.
        void set_spent(const QuotaState& state, std::uint64_t used);
        bool is_plain(const TableQuota& quota, std::int64_t cost) const;
        /// See count_in_place.
        bool may_count(const PlainReply& reply) const;
        void count(const PlainReply& reply, std::uint64_t used);
        /// Whether this is another value of the quota.
        bool is_sibling(const Key& other) const;
        WindowLayout layout() const;
        /// Whether the quota has no effect any more if it was not used for this time.
        bool has_ended(std::chrono::milliseconds unused) const;
        std::uint64_t value() const { return std::uint64_t{value_high} << 32U | value_low; }

        StoredOwner<kShortOwner> owner;
        std::uint32_t redis;
        std::uint32_t table;
        std::uint32_t first_period : Period::kCodeBits;
        std::uint32_t sliding : 1;
        std::uint32_t has_report : 1;
        std::uint32_t returns_soon : 1;
        std::uint32_t second_period : Period::kCodeBits;
        std::uint32_t owes_refund : 1;
        std::uint32_t has_lost_calls : 1;
        std::uint32_t is_wide : 1;  ///< the owed units are in the rest, because they need more bits
        std::array<std::uint32_t, 2> api_key;
        std::array<Window, kMostSmallWindows> windows;
        std::uint32_t lease;
        std::uint32_t own;
        Uint48 counted_at;
        Uint48 asked;
        std::array<Int24, kMostSmallWindows> owed;
        std::array<std::int16_t, kMostSmallWindows> owed_previous;
        std::uint16_t lease_calls;
        std::uint32_t returns_until;  ///< time_after `counted_at`
        std::int32_t last_arrival;    ///< ms after `asked`
        float arrived;
        std::uint32_t value_low;
        std::uint32_t value_high;
    };

    struct Large {
        using Key = QuotaCache::Key;
        Large(const Key& key, const QuotaState& state);
        bool is(const Key& other) const;
        /// Whether this is another value of the quota.
        bool is_sibling(const Key& other) const;
        WindowLayout layout() const;
        /// Whether the quota has no effect any more if it was not used for this time: its windows
        /// have ended and its buckets are full.
        bool has_ended(std::chrono::milliseconds unused) const;
        bool is_held() const { return lease != 0 || owes(); }
        /// Whether units are owed, or in a report, or calls are lost.
        bool owes() const;
        /// Whether the quota has a Rest.
        bool has_rest() const { return has_report != 0 || has_lost_calls != 0; }
        HeldSummary summary() const {
            return {owner.view(), redis,
                    table,        WindowLayout::period_of(periods.front()),
                    value,        {owes(), lease, arrivals.last, asked}};
        }
        SteadyTime due_at() const {
            return settling_due({owes(), lease, arrivals.last, asked}, {});
        }
        Held unpack() const;
        /// Into an empty state; all but the report and lost calls.
        void unpack(QuotaState& state) const;
        /// Adds what is in the rest.
        void unpack(const Rest& rest, QuotaState& state) const;
        /// Stores what depends on the state, and the key that was used.
        void set(const QuotaState& state, std::uint64_t used);
        /// See save_spent.
        void set_spent(const QuotaState& state, std::uint64_t used);

        StoredOwner<kLongestOwner> owner;
        std::uint8_t sliding : 1;
        std::uint8_t is_small : 1;  ///< see is_small()
        std::uint8_t has_report : 1;
        std::uint8_t returns_soon : 1;
        std::uint8_t owes_refund : 1;
        std::uint8_t has_lost_calls : 1;
        std::uint16_t lease_calls;
        std::uint32_t redis;
        std::uint32_t table;
        std::array<std::uint32_t, kMaxWindows> periods;
        std::uint64_t api_key;
        std::uint64_t value;
        std::array<QuotaState::Window, kMaxWindows> windows;
        std::int64_t lease;
        std::int64_t own;
        Instant counted_at;
        SteadyTime asked;
        Instant returns_until;
        Arrivals arrivals;
    };

    /// The place of a quota in a small place, which may be at `place`; none in a large one.
    TablePosition find_small(const Key& key, TablePosition place) const;

    template <typename Table>
    TablePosition load_from(const Table& table, const Key& key, QuotaState& state,
                            TablePosition place) const;
    template <typename Table>
    TablePosition put_in(const Table& table, const Key& key, const QuotaState& state,
                         SteadyTime now) const;
    template <typename Table>
    bool save_in(const Table& table, TablePosition place, const Key& key, const QuotaState& state,
                 SteadyTime now) const;

  public:
    // For divide_stripe.
    using SmallTable = SetAssociative<Small>;
    using LargeTable = SetAssociative<Large>;
    using ReportTable = SetAssociative<Rest>;

  private:
    SmallTable small_;
    LargeTable large_;
    ReportTable reports_;
};

}  // namespace tollgate
