#include "module/cli/simulation/refusals.hpp"

#include <algorithm>

namespace tollgate::cli {

void Refusals::forbid(Instant at) {
    ++forbidden;
    first = std::min(first, at);
    last = std::max(last, at);
}

void Refusals::refuse(std::uint32_t window, std::int64_t number, Instant at) {
    ++refused;
    first = std::min(first, at);
    last = std::max(last, at);
    auto found = std::ranges::find(windows, window, &OfWindow::window);
    if (found == windows.end()) {
        found = windows.insert(found, OfWindow{.window = window});
    }
    OfWindow& of = *found;
    ++of.refused;
    of.count = of.number == number ? of.count + 1 : 1;
    of.number = number;
    if (of.count > of.worst_count) {
        of.worst_number = number;
        of.worst_count = of.count;
    }
}

}  // namespace tollgate::cli
