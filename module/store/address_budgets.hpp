#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "module/core/client_address.hpp"
#include "module/core/rate.hpp"
#include "module/core/window.hpp"

namespace tollgate {

/// What client addresses spent on failed authentications, in memory that workers share. A table of
/// fixed size, eight places a set, in which the least recently seen address of a set gives way.
/// Memory of zeros is an empty one, and no state that a killed worker may leave is worse than a
/// wrong count. The caller holds the zone's lock.
class AddressBudgets {
  public:
    /// Whose budget: an address's in a plan table.
    struct Owner {
        std::uint32_t table;  ///< see table_id
        ClientAddress address;
        bool operator==(const Owner&) const = default;
    };

    /// A view of shared memory, which must be aligned for std::max_align_t and large enough for one
    /// set (1 KiB).
    explicit AddressBudgets(std::span<std::byte> memory);

    /// A plan table's name as a number that is the same in every process.
    static std::uint32_t table_id(std::string_view name);

    /// Takes `cost` (0: looks only) from every window, or from none where one has too little left:
    /// then that one is marked as exhausted. Windows are fixed ones of the caller's clock.
    std::vector<WindowState> charge(const Owner& owner, std::span<const Rate> rates,
                                    std::int64_t cost, Instant now);

  private:
    struct Window {
        std::int64_t period;  ///< seconds; 0: free
        std::int64_t number;
        std::int64_t count;
    };

    struct Entry {
        Owner owner;
        std::int64_t last_seen;  ///< ms; 0: free
        Window windows[kMaxRates];
    };

    static constexpr std::size_t kWays = 8;
    struct Set {
        Entry entries[kWays];
    };

    /// The owner's entry, or nullptr.
    Entry* find(const Owner& owner);
    /// The owner's entry, made in the place of the least recently seen one where there is none.
    Entry& find_or_make(const Owner& owner);
    Set& set_of(const Owner& owner);

    std::span<Set> sets_;
};

}  // namespace tollgate
