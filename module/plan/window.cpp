#include "module/plan/window.hpp"

#include <algorithm>
#include <tuple>

namespace tollgate {

using namespace std::chrono_literals;

namespace {

/// Ceiling and floor of a * b / c for amounts up to 10^12 and times up to a year in ms, whose
/// product takes more than 64 bits.
__extension__ using Wide = __int128;

std::int64_t scale_up(std::int64_t amount, std::int64_t part, std::int64_t whole) {
    return static_cast<std::int64_t>((Wide{amount} * part + whole - 1) / whole);
}

std::int64_t scale_down(std::int64_t amount, std::int64_t part, std::int64_t whole) {
    return static_cast<std::int64_t>(Wide{amount} * part / whole);
}

std::int64_t length_of(Period period) {
    return std::chrono::milliseconds(period.length()).count();
}

Instant start_of(const WindowCount& window, Period period) {
    return window_start(window.number, period);
}

}  // namespace

// The code of the calendar is long. It is not inlined where most windows are no months.

std::int64_t month_number(Instant now, Period month) {
    const auto today = std::chrono::floor<std::chrono::days>(now);
    return month_begin(month.billing(), today).time_since_epoch().count();
}

std::int64_t next_month_number(std::int64_t number, Period month) {
    const std::chrono::sys_days begin{std::chrono::days(number)};
    return next_month_begin(month.billing(), begin).time_since_epoch().count();
}

WindowCount roll(const WindowCount& window, Period period, Instant now) {
    const auto number = window_number(now, period);
    const bool is_kept =
        window.number == number ||
        (window.number > number && (window.number == next_window_number(number, period) ||
                                    start_of(window, period) - now <= kMostAhead));
    if (is_kept) {
        return window;
    }
    return {number, 0, window.number == number - 1 ? window.count : 0};
}

bool is_kept(const WindowCount& window, Period period, Instant earliest, Instant latest) {
    return roll(window, period, earliest).number == window.number &&
           roll(window, period, latest).number == window.number;
}

std::int64_t spent_sliding(const WindowCount& window, Period period, Instant now) {
    const auto length = length_of(period);
    const auto elapsed =
        std::clamp<std::int64_t>((now - start_of(window, period)).count(), 0, length);
    return window.count + scale_up(window.previous, length - elapsed, length);
}

Instant room_at(const WindowCount& window, const Rate& rate, std::int64_t need) {
    const auto length = length_of(rate.period);
    // The time until at most `room` units are left of the fading count.
    const auto until_faded = [&](std::int64_t fading, std::int64_t room) {
        return std::chrono::milliseconds(fading > room ? length - scale_down(room, length, fading)
                                                       : 0);
    };
    const auto room = rate.requests - window.count - need;
    if (room >= 0) {
        return start_of(window, rate.period) + until_faded(window.previous, room);
    }
    return window_end(window.number, rate.period) +
           until_faded(window.count, std::max<std::int64_t>(rate.requests - need, 0));
}

namespace {

bool binds_less(const WindowState& a, const WindowState& b) {
    const auto left = [](const WindowState& w) { return w.exhausted ? 0 : -w.remaining; };
    return std::tuple(a.exhausted, left(a), a.reset) < std::tuple(b.exhausted, left(b), b.reset);
}

}  // namespace

const WindowState* binding_window(std::span<const WindowState> windows) {
    const auto binding = std::ranges::max_element(windows, binds_less);
    return binding == windows.end() ? nullptr : &*binding;
}

const WindowState* binding_window(std::span<const WindowState> windows, const WindowState& like) {
    const WindowState* binding = nullptr;
    for (const WindowState& window : windows) {
        if (have_same_unit(window, like) && (binding == nullptr || binds_less(*binding, window))) {
            binding = &window;
        }
    }
    return binding;
}

namespace {

bool is_beyond(const WindowState& window) {
    return window.over.value_or(0) > 0;
}

}  // namespace

bool is_over(std::span<const WindowState> windows) {
    return std::ranges::any_of(windows, is_beyond);
}

std::string exceeded(std::span<const WindowState> windows) {
    std::string text;
    for (const WindowState& window : windows) {
        if (is_beyond(window)) {
            text.append(text.empty() ? "" : ", ").append(window.table);
            text.append(":").append(window.policy);
        }
    }
    return text;
}

const WindowState* exhausted_balance(std::span<const WindowState> windows) {
    const auto found = std::ranges::find_if(windows, [](const WindowState& window) {
        return window.exhausted && window.rate.is_balance();
    });
    return found == windows.end() ? nullptr : &*found;
}

ExactInstant retry_at(std::span<const WindowState> windows) {
    ExactInstant last{};
    for (const WindowState& window : windows) {
        if (window.exhausted) {
            const ExactInstant at = window.retry == Instant{} ? window.reset : window.retry;
            last = std::max(last, at);
        }
    }
    const WindowState* binding = binding_window(windows);
    return last != ExactInstant{} || binding == nullptr ? last : binding->reset;
}

std::int64_t retry_after(ExactInstant now, ExactInstant until) {
    return std::max(std::chrono::ceil<std::chrono::seconds>(until - now), std::chrono::seconds(1s))
        .count();
}

std::int64_t unix_seconds(ExactInstant instant) {
    return std::chrono::ceil<std::chrono::seconds>(instant).time_since_epoch().count();
}

}  // namespace tollgate
