#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "module/quota/quota_state.hpp"
#include "module/store/id_hash.hpp"
#include "module/store/place_hash.hpp"
#include "module/store/set_associative.hpp"
#include "module/store/uint48.hpp"

namespace tollgate {

/// What the node knows of quotas (QuotaState), packed into memory that workers share. Those of one
/// or two windows with limits below 2^31 take small places. The least recently used give way, but
/// for those that hold a lease or units that Redis does not know: these stay until Redis was told,
/// whichever worker tells it. The caller holds the zone's lock.
class QuotaCache {
  public:
    /// Whose quota: an id's in a plan table of a Redis.
    struct Key {
        IdHash id;
        std::uint32_t redis;  ///< name_hash of the `tollgate_redis`
        std::uint32_t table;  ///< name_hash of the plan table
        WindowLayout shape;
        /// KeyCache::Key::hash of the API key that was used last: its record has the id in clear.
        /// It does not tell quotas apart.
        std::uint64_t api_key = 0;

        Key(const IdHash& of, std::uint32_t redis_id, const TableQuota& quota, std::uint64_t used);
        /// For SetAssociative.
        std::uint64_t hash() const;
    };

    /// A quota that holds a lease or units that Redis does not know.
    struct Held {
        IdHash id;
        std::uint64_t api_key;
        std::uint32_t redis;
        std::uint32_t table;
        WindowLayout shape;
        QuotaState state;  ///< without its report
        bool has_report;
        bool is_small;  ///< lies in a small place

        /// A quota that is counted, and lies, as this one. Its limits are not known.
        TableQuota quota(std::string_view table_name) const;
        /// Whether all its windows have ended: nothing of it counts any more.
        bool has_ended(Instant now) const;
    };

    /// Views of shared memory: see SetAssociative.
    QuotaCache(std::span<std::byte> small, std::span<std::byte> large, std::span<std::byte> reports)
        : small_(small), large_(large), reports_(reports) {}

    /// What is known; an empty state where nothing is. It counts as used only when it is saved.
    QuotaState load(const Key& key, const TableQuota& quota) const;
    /// The same, and where it lies, for save under the same lock.
    QuotaState load(const Key& key, const TableQuota& quota, Place& place) const;

    /// Keeps it; it is used now. Of a small one what doesn't fit becomes the nearest that does:
    /// counts and leases have 32 bits, strikes and arrivals 16. False where there is no room: all
    /// that could give way is held.
    bool save(const Key& key, const TableQuota& quota, const QuotaState& state, SteadyTime now);
    /// The same, quicker where it still lies where load has found it.
    bool save(Place place, const Key& key, const TableQuota& quota, const QuotaState& state,
              SteadyTime now);

    /// Where a walk through the held quotas goes on.
    struct Cursor {
        bool large = false;
        std::uint32_t set = 0;
    };
    /// Calls `visit` with held quotas, from the cursor on, until it returns false or a bounded
    /// number was visited. True at the end of all; the cursor then is at the beginning.
    bool visit_held(Cursor& cursor, const std::function<bool(const Held&)>& visit) const;

    /// Drops what is known of a held quota.
    void drop(const Held& held) const;

    Occupancy small() const { return small_.occupancy(); }
    Occupancy large() const { return large_.occupancy(); }
    Occupancy reports() const { return reports_.occupancy(); }

  private:
    /// Counts of one window.
    struct Window {
        std::uint32_t number;
        std::uint32_t count;
        std::uint32_t previous;
        std::int32_t owed;
        std::int32_t owed_previous;
    };

    struct Small {
        static constexpr std::size_t kMostWindows = 2;
        using Key = QuotaCache::Key;
        Small(const Key& key, const QuotaState& state);
        bool is(const Key& other) const;
        bool is_held() const;
        Held unpack() const;
        QuotaState unpack_state() const;

        IdHash id;
        std::uint32_t redis;
        std::uint32_t table;
        std::uint32_t first_period : 30;
        std::uint32_t sliding : 1;
        std::uint32_t has_report : 1;
        std::uint32_t second_period;
        std::array<std::uint32_t, 2> api_key;
        std::array<Window, kMostWindows> windows;
        std::uint32_t lease;
        Uint48 counted_at;
        Uint48 asked;
        Uint48 banned_until;
        std::uint16_t strikes_owed;
        std::uint32_t arrivals_slot;
        std::uint16_t arrivals_now;
        std::uint16_t arrivals_before;
    };

    /// A key as it lies in a large place. Of numbers alone: what a worker leaves that is killed may
    /// be garbage.
    struct StoredKey {
        explicit StoredKey(const Key& key);
        bool is(const Key& key) const;
        WindowLayout shape() const;

        IdHash id;
        std::uint32_t redis;
        std::uint32_t table;
        std::array<std::uint32_t, kMaxRates> periods;
        std::uint32_t sliding;
        std::uint64_t api_key;
    };

    struct Large {
        using Key = QuotaCache::Key;
        Large(const Key& whose, const QuotaState& state);
        bool is(const Key& other) const { return key.is(other); }
        bool is_held() const;
        Held unpack() const;
        QuotaState unpack_state() const;

        StoredKey key;
        std::uint32_t has_report;
        std::array<QuotaState::Window, kMaxRates> windows;
        std::int64_t lease;
        Instant counted_at;
        SteadyTime asked;
        Instant banned_until;
        std::int64_t strikes_owed;
        Arrivals arrivals;
    };

    /// The report of a quota, which few have at a time.
    struct ReportEntry {
        using Key = QuotaCache::Key;
        ReportEntry(const Key& whose, const Report& sent) : key(whose), report(sent) {}
        bool is(const Key& other) const { return key.is(other); }
        bool is_held() const { return true; }

        StoredKey key;
        Report report;
    };

    /// Whether a quota's states lie among the small ones. It depends on nothing else, so that a
    /// state is found where it was put.
    static bool is_small(const TableQuota& quota);

    void load_report(const Key& key, QuotaState& state) const;

  public:
    // For those who divide memory.
    using SmallTable = SetAssociative<Small>;
    using LargeTable = SetAssociative<Large>;
    using ReportTable = SetAssociative<ReportEntry>;

  private:
    SmallTable small_;
    LargeTable large_;
    ReportTable reports_;
};

}  // namespace tollgate
