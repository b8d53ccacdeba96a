#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace tollgate {

/// For each plan table of a Redis, the worker that began last to serve it. After a reload, it tells
/// an old worker whether the new configuration has the table. Plain memory that workers share, all
/// zeros at first; the caller holds a lock. If all places are taken by workers that are alive,
/// further tables have none.
class TableWorkers {
  public:
    /// A worker begins to serve this table. `redis` and `table` are as in QuotaCache::Key.
    template <typename IsAlive>
    void insert(std::uint32_t redis, std::uint32_t table, std::uint32_t process, IsAlive is_alive) {
        auto place = std::ranges::find_if(
            places_, [&](const Entry& one) { return one.redis == redis && one.table == table; });
        if (place == places_.end()) {
            place = std::ranges::find_if(places_, [&](const Entry& one) {
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
            places_, [&](const Entry& one) { return one.redis == redis && one.table == table; });
        return place == places_.end() ? 0 : place->process;
    }

  private:
    struct Entry {
        std::uint32_t redis;
        std::uint32_t table;
        std::uint32_t process;
    };
    std::array<Entry, 128> places_;
};

}  // namespace tollgate
