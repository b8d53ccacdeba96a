#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tollgate::cli {

/// Remembers requests, to recognize a second line of one: with `log_subrequest on`, a subrequest
/// has a line with the `$request_id` of its request.
class RecentRequests {
  public:
    /// A request is remembered until at least so many others were added, at most twice as many.
    explicit RecentRequests(std::size_t remembered) : remembered_(remembered) {}

    /// Adds a request by a hash of its id. Returns false if it is remembered.
    bool add(std::uint64_t hash);

  private:
    static bool put(std::vector<std::uint64_t>& table, std::uint64_t hash, bool is_adding);

    std::size_t remembered_;
    std::size_t added_ = 0;  ///< to the newer table
    // Two hash tables with open addressing; an empty place is 0. The older one is dropped when the
    // newer one is full.
    std::vector<std::uint64_t> newer_;
    std::vector<std::uint64_t> older_;
};

}  // namespace tollgate::cli
