#include "module/zone/address_budgets.hpp"

#include <algorithm>
#include <limits>

namespace tollgate {

namespace {

/// The number of a window as stored in an entry.
std::uint32_t number_in(Instant now, const Rate& rate) {
    return static_cast<std::uint32_t>(window_number(now, rate.period));
}

/// A time as stored in an entry: Unix milliseconds modulo 2^32.
std::uint32_t stored(Instant time) {
    return static_cast<std::uint32_t>(time.time_since_epoch().count());
}

/// The time of a worker may be less than this behind that of another one.
constexpr std::chrono::milliseconds kMostLag{1000};

/// The look-ups that an address without a budget may cause, if they find nothing.
constexpr Rate kLookups{AddressBudgets::kLookupsASecond, std::chrono::seconds(1)};

/// The sum, or the largest number.
std::uint32_t added(std::uint32_t units, std::int64_t more) {
    constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();
    return more < kMost - units ? units + static_cast<std::uint32_t>(more) : kMost;
}

}  // namespace

/// The count of the entry in this window.
std::int64_t AddressBudgets::count_in(const Entry& entry, const Window& window) {
    const auto same = std::ranges::find_if(entry.windows, [&](const Window& other) {
        return other.period == window.period && other.number == window.number;
    });
    return same == entry.windows.end() ? 0 : same->count;
}

/// The caller's time, or the latest of another worker if that is a little later: a window that has
/// begun does not end for a worker that is late. Counts look-ups anew in each second.
Instant AddressBudgets::advance(Entry& entry, Instant now) {
    if (const std::chrono::milliseconds lag(entry.latest - stored(now)); lag < kMostLag) {
        return now + lag;
    }
    const Instant latest = now - std::chrono::milliseconds(stored(now) - entry.latest);
    if (window_number(latest, std::chrono::seconds(1)) !=
        window_number(now, std::chrono::seconds(1))) {
        entry.lookups = 0;
    }
    entry.latest = stored(now);
    return now;
}

WindowStates AddressBudgets::charge(const Owner& owner, std::span<const Rate> rates,
                                    std::int64_t cost, Instant callers_now) {
    WindowStates states;
    states.reserve(rates.size());
    const TablePosition place = entries_.find(owner);
    Entry charged = place ? entries_.at(place) : Entry{owner, {}, stored(callers_now), 0, 0, 0};
    const Instant now = advance(charged, callers_now);
    const Entry known = charged;
    charged.windows = {};
    for (std::size_t i = 0; i < rates.size(); ++i) {
        const Rate& rate = rates[i];
        const std::int64_t number = window_number(now, rate.period);
        Window& window = charged.windows[i];
        window = {rate.period.code(), number_in(now, rate), 0};
        window.count = count_in(known, window);
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
        charged.untold = added(charged.untold, cost);
        entries_.put_at(place, owner, now.time_since_epoch(), charged);
    } else if (place) {
        entries_.touch(place, now.time_since_epoch());
    }
    return states;
}

std::optional<AddressBudgets::Charge> AddressBudgets::take_charge(const Owner& owner,
                                                                  std::span<const Rate> rates,
                                                                  Instant callers_now,
                                                                  std::chrono::milliseconds pause) {
    const TablePosition place = entries_.find(owner);
    if (!place) {
        return Charge{};
    }
    Entry& entry = entries_.at(place);
    const Instant now = advance(entry, callers_now);
    if (entry.untold > 0 &&
        stored(now) - entry.told_at < static_cast<std::uint32_t>(pause.count())) {
        return std::nullopt;
    }
    Charge charge;
    charge.reserve(rates.size());
    for (const Rate& rate : rates) {
        const Window window{rate.period.code(), number_in(now, rate), 0};
        // The others were charged in windows that have ended.
        const auto units = std::min<std::int64_t>(entry.untold, count_in(entry, window));
        charge.push_back({window_number(now, rate.period), units});
    }
    if (std::ranges::all_of(charge, [](const WindowCharge& one) { return one.units == 0; })) {
        charge.clear();
    }
    entry.untold = 0;
    entry.told_at = stored(now);
    return charge;
}

bool AddressBudgets::was_told(const Owner& owner, std::span<const Rate> rates, Instant now) const {
    const TablePosition place = entries_.find(owner);
    if (!place || entries_.at(place).told_at == 0) {
        return false;
    }
    const std::uint32_t told_at = entries_.at(place).told_at;
    const Instant told = now - std::chrono::milliseconds(stored(now) - told_at);
    const Period longest = rates.back().period;
    return window_number(told, longest) == window_number(now, longest) ||
           std::chrono::milliseconds(told_at - stored(now)) < kMostLag;
}

void AddressBudgets::set_totals(const Owner& owner, std::span<const Rate> rates,
                                const Charge& charge, std::span<const std::int64_t> totals) {
    const TablePosition place = entries_.find(owner);
    if (!place) {
        return;
    }
    Entry& entry = entries_.at(place);
    for (std::size_t i = 0; i < rates.size(); ++i) {
        for (Window& window : entry.windows) {
            if (totals[i] != kNotCounted && window.period == rates[i].period.code() &&
                window.number == static_cast<std::uint32_t>(charge[i].number)) {
                window.count = std::max(window.count, totals[i] + entry.untold);
            }
        }
    }
}

bool AddressBudgets::admits_lookup(const Owner& owner, std::span<const Rate> rates,
                                   Instant callers_now) {
    const TablePosition place = entries_.find(owner);
    if (!place) {
        return true;
    }
    Entry entry = entries_.at(place);
    const Instant now = advance(entry, callers_now);
    const bool is_spent = std::ranges::any_of(rates, [&](const Rate& rate) {
        const Window window{rate.period.code(), number_in(now, rate), 0};
        return count_in(entry, window) >= rate.requests;
    });
    if (!is_spent) {
        return true;
    }
    return count_lookup(place, entry, now);
}

/// Counts a look-up in the current second, unless it has had as many as it may have.
bool AddressBudgets::count_lookup(TablePosition place, Entry& entry, Instant now) {
    const bool admits = entry.lookups < kLookupsASecond;
    if (admits) {
        ++entry.lookups;
        entries_.put_at(place, entry.owner, now.time_since_epoch(), entry);
    } else {
        entries_.touch(place, now.time_since_epoch());
    }
    return admits;
}

bool AddressBudgets::admits_lookup(const Owner& owner, Instant callers_now) {
    const TablePosition place = entries_.find(owner);
    if (!place) {
        return true;
    }
    Entry entry = entries_.at(place);
    const Instant now = advance(entry, callers_now);
    const std::uint32_t second = number_in(now, kLookups);
    const Window& latest = entry.windows[0];
    const Window& flood = entry.windows[1];
    if (latest.number == second && latest.count >= kLookups.requests) {
        entries_.touch(place, now.time_since_epoch());
        return false;
    }
    const auto is_recent = [&](const Window& window) {
        return window.count >= kLookups.requests && second - window.number <= kFloodHolds.count();
    };
    return !(is_recent(latest) || is_recent(flood)) || count_lookup(place, entry, now);
}

void AddressBudgets::note_unknown(const Owner& owner, Instant callers_now) {
    const TablePosition place = entries_.find(owner);
    Entry entry = place ? entries_.at(place) : Entry{owner, {}, stored(callers_now), 0, 0, 0};
    const Instant now = advance(entry, callers_now);
    Window& latest = entry.windows[0];
    if (latest.number != number_in(now, kLookups)) {
        if (latest.count >= kLookups.requests) {
            entry.windows[1] = latest;
        }
        latest = {kLookups.period.code(), number_in(now, kLookups), 0};
    }
    ++latest.count;
    entries_.put_at(place, owner, now.time_since_epoch(), entry);
}

}  // namespace tollgate
