#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace tollgate {

/// The workers of a node, and for each plan table of a Redis the one that began last to serve it.
/// After a reload, the table's worker tells an old worker whether the new configuration has the
/// table, and the list tells a new worker whether old ones are left. Plain memory that workers
/// share, all zeros at first; the caller holds a lock. If all places are taken by workers that are
/// alive, further workers or tables have none.
class TableWorkers {
  public:
    /// A worker starts. It remains in the list until it has ended.
    template <typename IsAlive>
    void start(std::uint32_t process, IsAlive is_alive) {
        // The number of a process that has ended may become that of another program.
        std::ranges::for_each(processes_, [&](std::uint32_t& other) {
            other = other != 0 && is_alive(other) ? other : 0;
        });
        const auto place = std::ranges::find(processes_, 0U);
        if (place != processes_.end()) {
            *place = process;
        }
    }
    /// Whether `is` is true for any worker of the list. Some of them may have ended.
    template <typename Is>
    bool any(Is is) const {
        return std::ranges::any_of(
            processes_, [&](std::uint32_t process) { return process != 0 && is(process); });
    }

    /// A worker begins to serve this table. `redis` and `table` are as in QuotaCache::Key.
    template <typename IsAlive>
    void insert(std::uint32_t redis, std::uint32_t table, std::uint32_t process, IsAlive is_alive) {
        auto place = std::ranges::find_if(
            places_, [&](const Place& one) { return one.redis == redis && one.table == table; });
        if (place == places_.end()) {
            place = std::ranges::find_if(places_, [&](const Place& one) {
                return one.process == 0 || !is_alive(one.process);
            });
        }
        if (place != places_.end()) {
            *place = {redis, table, process};
        }
    }

    /// The process of that worker, which may have ended; 0: no worker serves the table.
    std::uint32_t find(std::uint32_t redis, std::uint32_t table) const {
        const auto place = std::ranges::find_if(
            places_, [&](const Place& one) { return one.redis == redis && one.table == table; });
        return place == places_.end() ? 0 : place->process;
    }

  private:
    struct Place {
        std::uint32_t redis;
        std::uint32_t table;
        std::uint32_t process;
    };
    std::array<Place, 128> places_;
    std::array<std::uint32_t, 256> processes_;
};

}  // namespace tollgate
