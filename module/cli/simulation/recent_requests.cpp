#include "module/cli/simulation/recent_requests.hpp"

#include <bit>
#include <utility>

namespace tollgate::cli {

/// Searches a table, and adds the hash if it is missing. Returns whether it was missing.
bool RecentRequests::put(std::vector<std::uint64_t>& table, std::uint64_t hash, bool is_adding) {
    const std::size_t mask = table.size() - 1;
    std::size_t place = hash & mask;
    for (; table[place] != 0; place = (place + 1) & mask) {
        if (table[place] == hash) {
            return false;
        }
    }
    if (is_adding) {
        table[place] = hash;
    }
    return true;
}

bool RecentRequests::add(std::uint64_t hash) {
    hash += hash == 0 ? 1 : 0;
    if (newer_.empty()) {
        // At most half of the places are used.
        newer_.resize(std::bit_ceil(2 * remembered_));
        older_.resize(newer_.size());
    }
    if (!put(older_, hash, false) || !put(newer_, hash, true)) {
        return false;
    }
    if (++added_ == remembered_) {
        added_ = 0;
        std::swap(newer_, older_);
        newer_.assign(newer_.size(), 0);
    }
    return true;
}

}  // namespace tollgate::cli
