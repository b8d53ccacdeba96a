#include "module/store/address_budgets.hpp"

#include <algorithm>

namespace tollgate {

std::vector<WindowState> AddressBudgets::charge(const Owner& owner, std::span<const Rate> rates,
                                                std::int64_t cost, Instant now) {
    Entry* entry = entries_.find(owner);
    std::vector<Window> windows;
    std::vector<WindowState> states;
    for (const Rate& rate : rates) {
        Window window{rate.period.count(), window_number(now, rate.period), 0};
        if (entry != nullptr) {
            const auto same = std::ranges::find_if(entry->windows, [&](const Window& known) {
                return known.period == window.period && known.number == window.number;
            });
            window.count = same == std::end(entry->windows) ? 0 : same->count;
        }
        const auto left = std::max<std::int64_t>(rate.requests - window.count, 0);
        windows.push_back(window);
        states.push_back({rate, left, window_end(window.number, rate.period), left < cost});
    }
    if (cost == 0) {
        return states;
    }
    if (std::ranges::none_of(states, &WindowState::exhausted)) {
        entry = &entries_.find_or_make(owner);
        std::ranges::fill(entry->windows, Window{});
        for (std::size_t i = 0; i < windows.size(); ++i) {
            windows[i].count += cost;
            entry->windows[i] = windows[i];
            states[i].remaining -= cost;
        }
    }
    if (entry != nullptr) {
        entry->last_seen = std::max<std::int64_t>(now.time_since_epoch().count(), 1);
    }
    return states;
}

}  // namespace tollgate
