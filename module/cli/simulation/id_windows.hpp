#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "module/quota/window.hpp"

namespace tollgate::cli {

/// The counts of the windows of many ids. An id has only the windows of its quotas: most of the
/// memory of a simulation is here.
class IdWindows {
  public:
    /// The windows of one id. An empty one has none.
    struct Place {
        std::uint32_t layout = 0;
        std::uint64_t begin = 0;
    };

    /// Adds the windows of these numbers to an id, if it does not have them. Pointers from at() are
    /// then invalid.
    void add(Place& place, std::span<const std::uint32_t> windows);
    /// The count of a window that the id has.
    WindowCount* at(const Place& place, std::uint32_t window);

  private:
    using Layout = std::vector<std::uint32_t>;

    std::uint32_t layout_with(std::uint32_t layout, std::span<const std::uint32_t> windows);

    std::vector<Layout> layouts_{Layout{}};
    std::vector<WindowCount> counts_;
};

}  // namespace tollgate::cli
