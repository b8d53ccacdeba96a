#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "module/key/client_address.hpp"
#include "module/plan/rate.hpp"
#include "module/plan/window.hpp"
#include "module/plan/window_charge.hpp"
#include "module/text/name_hash.hpp"
#include "module/zone/set_associative.hpp"

namespace tollgate {

/// Counts failed authentications per client address, in memory that workers share: see
/// SetAssociative. Each worker passes its own time. One that is less than a second behind the
/// latest that an owner had counts as the latest.
class AddressBudgets {
  public:
    /// A budget: of an address in a plan table.
    struct Owner {
        std::uint32_t table;  ///< see name_hash
        ClientAddress address;
        bool operator==(const Owner&) const = default;
        /// For SetAssociative.
        std::uint64_t hash() const {
            return mixed_place_hash(address.prefix, table ^ address.family);
        }
    };

    explicit AddressBudgets(std::span<std::byte> memory) : entries_(memory) {}

    /// Takes `cost` from every window, or from none if a window has too little left; that window is
    /// marked as exhausted. A cost of 0 only reads. Windows are fixed and use the caller's clock.
    WindowStates charge(const Owner& owner, std::span<const Rate> rates, std::int64_t cost,
                        Instant now);

    /// Whether an unknown key may be looked up for this owner, and counts this look-up. Always true
    /// while the budget lasts; then at most kLookupsASecond times per second of the caller's clock.
    bool admits_lookup(const Owner& owner, std::span<const Rate> rates, Instant now);
    static constexpr std::uint32_t kLookupsASecond = 10;

    /// The owner of an address in all tables without a budget.
    static Owner without_budget(const ClientAddress& address) { return {0, address}; }
    /// Whether a possibly made-up key may be looked up for an owner without a budget. A second is a
    /// flood once kLookupsASecond look-ups have found nothing (see note_unknown): then no further
    /// one is admitted in it, and at most kLookupsASecond in each second of the next kFloodHolds.
    /// So a flood causes more only in its first second: those under way when it is noticed. Other
    /// owners are not limited.
    bool admits_lookup(const Owner& owner, Instant now);
    /// A look-up that the other admits_lookup admitted has found nothing.
    void note_unknown(const Owner& owner, Instant now);
    static constexpr std::chrono::seconds kFloodHolds{10};

    /// What was charged to the current windows of a budget, in the order of the rates. Empty: to
    /// none of them.
    using Charge = std::vector<WindowCharge>;
    /// Takes the units that were charged since this returned some, if that was at least `pause` ago
    /// by the caller's clock. None are left then. nullopt: not yet. Units of a window that has
    /// ended are dropped. A budget that was evicted has none.
    std::optional<Charge> take_charge(const Owner& owner, std::span<const Rate> rates, Instant now,
                                      std::chrono::milliseconds pause);
    /// Whether take_charge has returned some in the longest window that is current now.
    bool was_told(const Owner& owner, std::span<const Rate> rates, Instant now) const;
    /// All nodes have charged these units in the windows of a charge; kNotCounted: no information.
    /// The budget has at most what is left then.
    void set_totals(const Owner& owner, std::span<const Rate> rates, const Charge& charge,
                    std::span<const std::int64_t> totals);
    static constexpr std::int64_t kNotCounted = -1;

    Occupancy occupancy() const { return entries_.occupancy(); }

  private:
    struct Window {
        std::uint32_t period;  ///< Period::code; 0: free
        std::uint32_t number;
        std::int64_t count;
    };

    struct Entry {
        using Key = Owner;
        bool is(const Key& other) const { return owner == other; }

        Owner owner;
        /// The charged windows of a budget. For an owner without a budget, the first one is the
        /// last second with a look-up that found nothing, with the number of such look-ups. The
        /// second one is the last second that was a flood, with its number of them.
        std::array<Window, kMaxRates> windows;
        // Times are Unix milliseconds modulo 2^32.
        std::uint32_t latest;   ///< the latest time of a worker
        std::uint32_t lookups;  ///< in its second, after the budget was spent
        std::uint32_t untold;   ///< units that other nodes have not been told
        std::uint32_t told_at;  ///< when they were told
    };

    static std::int64_t count_in(const Entry& entry, const Window& window);
    bool count_lookup(TablePosition place, Entry& entry, Instant now);
    static Instant advance(Entry& entry, Instant now);

  public:
    // For divide_stripe.
    using Table = SetAssociative<Entry>;

  private:
    Table entries_;
};

}  // namespace tollgate
