#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "module/plan/table_quota.hpp"

namespace tollgate {

/// Which kinds of quotas a stripe has stored: of which plan table of which Redis, and with which
/// windows. There are few, one or two for each table. By them, all quotas of an id are found,
/// whatever its record and the configuration say today: units may be held in windows of an earlier
/// plan. In memory that workers share; all zeros at first. The caller holds the lock of the stripe.
class QuotaLayouts {
  public:
    /// Contains only numbers: a worker that is killed may leave an invalid one.
    struct Layout {
        std::uint32_t redis;  ///< name_hash of the `tollgate_redis`
        std::uint32_t table;  ///< name_hash of the plan table; with `redis` 0: free
        std::array<std::uint32_t, kMaxWindows> periods;  ///< WindowLayout::periods
        std::uint32_t sliding : 1;
        std::uint32_t is_small : 1;
        std::uint32_t is_of_group : 1;  ///< the counter of a group
        std::uint32_t is_of_value : 1;  ///< counters of values
        bool operator==(const Layout&) const = default;
    };
    static constexpr std::size_t kMost = 32;
    static constexpr std::size_t kSize = kMost * sizeof(Layout);

    /// A view of this memory, which has kSize bytes and is aligned to 4.
    explicit QuotaLayouts(std::span<std::byte> memory)
        : layouts_(reinterpret_cast<Layout*>(memory.data()), kMost) {}

    /// Adds a layout. If there are kMost others, it takes the place of the last one.
    void add(const Layout& layout) const {
        const auto place = std::ranges::find_if(
            layouts_, [&](const Layout& known) { return known == layout || is_free(known); });
        (place == layouts_.end() ? layouts_.back() : *place) = layout;
    }
    /// Whether no layout is missing.
    bool are_complete() const { return is_free(layouts_.back()); }
    std::span<const Layout> all() const {
        return layouts_.first(
            static_cast<std::size_t>(std::ranges::find_if(layouts_, is_free) - layouts_.begin()));
    }

  private:
    static bool is_free(const Layout& layout) { return layout.redis == 0 && layout.table == 0; }

    std::span<Layout> layouts_;
};

}  // namespace tollgate
