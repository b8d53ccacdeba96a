#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tollgate::cli {

/// Remembers requests, to recognize a second line of one: with `log_subrequest on`, a subrequest
/// has a line with the `$request_id` of its request.
class RecentRequests {
  public:
    /// A request is remembered until at least so many others were added, at most twice as many.
    explicit RecentRequests(std::size_t remembered) : remembered_(remembered) {}

    /// Adds a request by a hash of its id. Returns false if it is remembered.
    bool add(std::uint64_t hash) {
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

  private:
    /// Searches a table, and adds the hash if it is missing. Returns whether it was missing.
    static bool put(std::vector<std::uint64_t>& table, std::uint64_t hash, bool is_adding) {
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

    std::size_t remembered_;
    std::size_t added_ = 0;  ///< to the newer table
    // Two hash tables with open addressing; an empty place is 0. The older one is dropped when the
    // newer one is full.
    std::vector<std::uint64_t> newer_;
    std::vector<std::uint64_t> older_;
};

}  // namespace tollgate::cli
