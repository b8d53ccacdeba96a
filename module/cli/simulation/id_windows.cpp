#include "module/cli/simulation/id_windows.hpp"

#include <algorithm>

namespace tollgate::cli {

namespace {

bool has_window(std::span<const std::uint32_t> layout, std::uint32_t window) {
    return std::ranges::find(layout, window) != layout.end();
}

}  // namespace

/// The layout that has the windows of `layout`, in the same order, and then those that it lacks.
std::uint32_t IdWindows::layout_with(std::uint32_t layout, std::span<const std::uint32_t> windows) {
    Layout wanted = layouts_[layout];
    for (const auto window : windows) {
        if (!has_window(wanted, window)) {
            wanted.push_back(window);
        }
    }
    const auto found = std::ranges::find(layouts_, wanted);
    const auto index = found - layouts_.begin();
    if (found == layouts_.end()) {
        layouts_.push_back(std::move(wanted));
    }
    return static_cast<std::uint32_t>(index);
}

void IdWindows::add(Place& place, std::span<const std::uint32_t> windows) {
    const auto has = [&](std::uint32_t window) {
        return has_window(layouts_[place.layout], window);
    };
    if (std::ranges::all_of(windows, has)) {
        return;
    }
    const std::size_t old_size = layouts_[place.layout].size();
    place.layout = layout_with(place.layout, windows);
    // The old place is not used again: an id gets further windows only if its plan changes.
    const std::uint64_t begin = counts_.size();
    counts_.resize(begin + layouts_[place.layout].size());
    std::copy_n(counts_.begin() + static_cast<std::ptrdiff_t>(place.begin), old_size,
                counts_.begin() + static_cast<std::ptrdiff_t>(begin));
    place.begin = begin;
}

WindowCount* IdWindows::at(const Place& place, std::uint32_t window) {
    const Layout& layout = layouts_[place.layout];
    const auto index = std::ranges::find(layout, window) - layout.begin();
    return &counts_[place.begin + static_cast<std::size_t>(index)];
}

}  // namespace tollgate::cli
