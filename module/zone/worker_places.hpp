#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace tollgate {

/// The worker processes of a node, each at a place of its own from its start to its end. After a
/// reload, a worker and its predecessor of the same number have different places. A worker that was
/// killed keeps its place until another one has recovered what it had. Plain memory that workers
/// share, all zeros at first; the caller holds a lock.
class WorkerPlaces {
  public:
    static constexpr std::size_t kMost = 256;

    /// A worker starts. Returns its place; kMost if all are taken.
    std::size_t take(std::uint32_t process) {
        const auto place = std::ranges::find(processes_, 0U);
        if (place != processes_.end()) {
            *place = process;
        }
        return static_cast<std::size_t>(place - processes_.begin());
    }
    /// The process at this place; 0: it is free, or there is none.
    std::uint32_t at(std::size_t place) const { return place < kMost ? processes_[place] : 0; }
    /// Nothing is left of the process at this place.
    void free(std::size_t place) {
        if (place < kMost) {
            processes_[place] = 0;
        }
    }
    /// Whether `is` is true for the process of any place. Some of them may have ended.
    template <typename Is>
    bool any(Is is) const {
        return std::ranges::any_of(
            processes_, [&](std::uint32_t process) { return process != 0 && is(process); });
    }

  private:
    std::array<std::uint32_t, kMost> processes_;
};

}  // namespace tollgate
