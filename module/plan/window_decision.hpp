#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "module/plan/window.hpp"

namespace tollgate {

/// A window or a bucket of a quota, and what was granted in it.
struct CountedWindow {
    Rate rate;
    bool sliding = false;
    WindowCount* count = nullptr;
};

/// Decides a request of `cost` units over all windows at once, as the acquire script decides it in
/// Redis: all windows grant and count it, or none does. Returns nullopt if it is granted, otherwise
/// the window that a 429 shows: see binding_window.
///
/// `now` may be earlier than the last request that was decided. The windows of that time then
/// decide: the current one, or the one before by its last count. Windows before that have no counts
/// any more; they refuse nothing. A bucket gets no tokens for such a time.
std::optional<std::size_t> decide_windows(std::span<const CountedWindow> windows, std::int64_t cost,
                                          Instant now);

}  // namespace tollgate
