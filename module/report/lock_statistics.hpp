#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "module/report/counter.hpp"

namespace tollgate {

/// Durations by powers of two. Memory of zeros has none.
struct DurationStatistics {
    static constexpr std::size_t kClasses = 32;

    Counter nanoseconds;                      ///< the sum
    Counter longest;                          ///< in ns
    std::array<Counter, kClasses> classes{};  ///< class i: below 2^i ns, and not in a lower class

    void note(std::chrono::nanoseconds duration) noexcept {
        const auto ns = static_cast<std::uint64_t>(std::max<std::int64_t>(duration.count(), 0));
        nanoseconds.add(ns);
        classes[std::min<std::size_t>(std::bit_width(ns), kClasses - 1)].add();
        raise_longest(ns);
    }
    void add(const DurationStatistics& other) noexcept {
        nanoseconds.add(other.nanoseconds.value());
        for (std::size_t i = 0; i < kClasses; ++i) {
            classes[i].add(other.classes[i].value());
        }
        raise_longest(other.longest.value());
    }

  private:
    /// Two workers that share the number may lose one of two values at a reload.
    void raise_longest(std::uint64_t ns) noexcept {
        if (ns > longest.value()) {
            longest.set(ns);
        }
    }
};

/// How long a worker waits for locks of the zone, and how long it holds them.
struct alignas(64) LockStatistics {
    Counter holds;
    DurationStatistics held;
    DurationStatistics waited;

    void note(std::chrono::nanoseconds wait, std::chrono::nanoseconds hold) noexcept {
        holds.add();
        waited.note(wait);
        held.note(hold);
    }
    void add(const LockStatistics& other) noexcept {
        holds.add(other.holds.value());
        held.add(other.held);
        waited.add(other.waited);
    }
};

}  // namespace tollgate
