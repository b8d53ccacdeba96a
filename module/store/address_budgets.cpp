#include "module/store/address_budgets.hpp"

#include <algorithm>

namespace tollgate {

std::vector<WindowState> AddressBudgets::charge(const Owner& owner, std::span<const Rate> rates,
                                                std::int64_t cost, Instant now) {
    const Place place = entries_.find(owner);
    Entry charged{owner, {}};
    std::vector<WindowState> states;
    states.reserve(rates.size());
    for (std::size_t i = 0; i < rates.size(); ++i) {
        const Rate& rate = rates[i];
        const std::int64_t number = window_number(now, rate.period);
        Window& window = charged.windows[i];
        window = {static_cast<std::uint32_t>(rate.period.count()),
                  static_cast<std::uint32_t>(number), 0};
        if (place) {
            const auto& known = entries_.at(place).windows;
            const auto same = std::ranges::find_if(known, [&](const Window& other) {
                return other.period == window.period && other.number == window.number;
            });
            window.count = same == known.end() ? 0 : same->count;
        }
        const auto left = std::max<std::int64_t>(rate.requests - window.count, 0);
        window.count += cost;
        states.push_back({rate, left, window_end(number, rate.period), left < cost});
    }
    if (cost == 0) {
        return states;
    }
    if (std::ranges::none_of(states, &WindowState::exhausted)) {
        for (WindowState& state : states) {
            state.remaining -= cost;
        }
        entries_.put_at(place, owner, now.time_since_epoch(), charged);
    } else if (place) {
        entries_.touch(place, now.time_since_epoch());
    }
    return states;
}

}  // namespace tollgate
