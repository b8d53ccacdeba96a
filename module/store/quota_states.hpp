#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "module/core/quota_state.hpp"
#include "module/store/id_hash.hpp"
#include "module/store/place_hash.hpp"
#include "module/store/set_associative.hpp"
#include "module/store/uint48.hpp"

namespace tollgate {

/// What the node knows of quotas (QuotaState), packed into memory that workers share. Those of one
/// or two windows with limits below 2^31 take small places. The least recently used give way. The
/// caller holds the zone's lock.
class QuotaStates {
  public:
    /// Whose quota: an id's in a plan table of a Redis.
    struct Key {
        IdHash id;
        std::uint32_t table;  ///< name_id of the table's name and its Redis's
        bool operator==(const Key&) const = default;
        /// For SetAssociative.
        std::uint64_t hash() const {
            return place_hash(std::span(id).first<sizeof(std::uint64_t)>(), table);
        }
    };

    /// Views of shared memory: see SetAssociative.
    QuotaStates(std::span<std::byte> small, std::span<std::byte> large)
        : small_(small), large_(large) {}

    /// What is known; an empty state where nothing is, or of a quota of another shape. It counts as
    /// used only when it is saved.
    QuotaState load(const Key& key, const TableQuota& quota) const;
    /// The same, and where it lies, for save under the same lock.
    QuotaState load(const Key& key, const TableQuota& quota, Place& place) const;

    /// Keeps it; it is used now. Of a small one what doesn't fit becomes the nearest that does:
    /// counts and leases have 32 bits, strikes and arrivals 16.
    void save(const Key& key, const TableQuota& quota, const QuotaState& state, SteadyTime now);
    /// The same, quicker where it still lies where load has found it.
    void save(Place place, const Key& key, const TableQuota& quota, const QuotaState& state,
              SteadyTime now);

    Occupancy small() const { return small_.occupancy(); }
    Occupancy large() const { return large_.occupancy(); }

  private:
    struct Small {
        struct Window {
            std::uint32_t number;
            std::uint32_t count;
            std::uint32_t previous;
            std::int32_t owed;
        };

        using Key = QuotaStates::Key;
        Small(const Key& whose, const TableQuota& quota, const QuotaState& state);
        bool is(const Key& other) const { return key == other; }
        QuotaState unpack() const;

        Key key;
        std::uint32_t shape;
        std::array<Window, 2> windows;
        std::uint32_t lease;
        Uint48 told_at;
        Uint48 asked;
        Uint48 banned_until;
        Uint48 arrivals_slot;
        std::uint16_t arrivals_now;
        std::uint16_t arrivals_before;
        std::uint16_t strikes_told;
        std::uint16_t strikes_untold;
    };

    struct Large {
        using Key = QuotaStates::Key;
        Large(const Key& whose, const TableQuota& quota, const QuotaState& known)
            : key(whose), shape(quota.shape), state(known) {}
        bool is(const Key& other) const { return key == other; }

        Key key;
        std::uint32_t shape;
        QuotaState state;
    };

    /// Whether a quota's states lie among the small ones. It depends on nothing else, so that a
    /// state is found where it was put.
    static bool is_small(const TableQuota& quota);

  public:
    // For those who divide memory.
    using SmallTable = SetAssociative<Small>;
    using LargeTable = SetAssociative<Large>;

  private:
    SmallTable small_;
    LargeTable large_;
};

}  // namespace tollgate
