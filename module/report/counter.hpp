#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>

namespace tollgate {

/// A number in memory that workers share; memory of zeros is 0. Counting needs no lock. The memory
/// order is relaxed, because no other data depends on the number. A copy has the current value.
template <typename Value>
class SharedNumber {
  public:
    SharedNumber() = default;
    SharedNumber(const SharedNumber& other) : value_(other.value()) {}
    SharedNumber& operator=(const SharedNumber& other) {
        if (this != &other) {
            set(other.value());
        }
        return *this;
    }
    ~SharedNumber() = default;

    void add(Value amount = 1) noexcept { atomic().fetch_add(amount, std::memory_order_relaxed); }
    /// Increases the number by 1, and returns it.
    Value next() noexcept { return atomic().fetch_add(1, std::memory_order_relaxed) + 1; }
    void set(Value value) noexcept { atomic().store(value, std::memory_order_relaxed); }
    Value value() const noexcept { return atomic().load(std::memory_order_relaxed); }

    /// Sets the number to `value` if it is `expected`.
    void replace(Value expected, Value value) noexcept {
        atomic().compare_exchange_strong(expected, value, std::memory_order_relaxed);
    }

  private:
    // C++20 has no atomic_ref to const types.
    std::atomic_ref<Value> atomic() const noexcept {
        return std::atomic_ref<Value>(const_cast<Value&>(value_));
    }

    alignas(std::atomic_ref<Value>::required_alignment) Value value_{};
};

/// A number that only increases.
using Counter = SharedNumber<std::uint64_t>;
/// A number that increases and decreases.
using Gauge = SharedNumber<std::int64_t>;

/// A histogram of durations, with bounds that are common for this purpose.
struct Histogram {
    /// The upper bound of each class. A last class has all longer durations.
    static constexpr std::array<std::chrono::microseconds, 14> kBounds{
        std::chrono::microseconds(50),  std::chrono::microseconds(100),
        std::chrono::microseconds(250), std::chrono::microseconds(500),
        std::chrono::milliseconds(1),   std::chrono::microseconds(2500),
        std::chrono::milliseconds(5),   std::chrono::milliseconds(10),
        std::chrono::milliseconds(25),  std::chrono::milliseconds(50),
        std::chrono::milliseconds(100), std::chrono::milliseconds(250),
        std::chrono::milliseconds(500), std::chrono::seconds(1)};

    std::array<Counter, kBounds.size() + 1> classes{};  ///< not cumulative
    Counter microseconds;                               ///< the sum of all durations

    void note(std::chrono::microseconds duration) noexcept {
        std::size_t index = 0;
        while (index < kBounds.size() && duration > kBounds[index]) {
            ++index;
        }
        classes[index].add();
        // A clock that was set back gives negative durations. The sum must not decrease.
        microseconds.add(duration.count() > 0 ? static_cast<std::uint64_t>(duration.count()) : 0);
    }
    /// For each class, the number of durations up to its bound. The last one is that of all.
    std::array<std::uint64_t, kBounds.size() + 1> cumulative() const noexcept {
        std::array<std::uint64_t, kBounds.size() + 1> counts{};
        std::transform_inclusive_scan(classes.begin(), classes.end(), counts.begin(), std::plus(),
                                      [](const Counter& count) { return count.value(); });
        return counts;
    }
};

/// The set of workers that are in some state. Each worker has the place of its number
/// (`ngx_worker`), which contains its process id, and whether it is in the state. At a reload, the
/// place belongs to the successor from its start on: what the predecessor does until it exits has
/// no effect.
class WorkerSet {
  public:
    /// Workers with higher numbers are not counted.
    static constexpr std::size_t kMost = 128;

    /// A worker has started. It is not in the state yet.
    void start(std::size_t worker, std::uint32_t process) noexcept {
        if (worker < kMost) {
            places_[worker].set(process);
        }
    }
    /// No effect if a successor of the worker has started, as for erase().
    void insert(std::size_t worker, std::uint32_t process) noexcept {
        if (worker < kMost) {
            places_[worker].replace(process, process | kIsIn);
        }
    }
    void erase(std::size_t worker, std::uint32_t process) noexcept {
        if (worker < kMost) {
            places_[worker].replace(process | kIsIn, process);
        }
    }
    /// A worker that was killed remains in the state until its successor starts.
    bool contains(std::uint32_t process) const noexcept {
        return std::ranges::any_of(
            places_, [&](const auto& place) { return place.value() == (process | kIsIn); });
    }
    /// The number of workers in the state, among the first `workers`.
    std::uint64_t count(std::size_t workers) const noexcept {
        std::uint64_t found = 0;
        for (std::size_t i = 0; i < workers && i < kMost; ++i) {
            found += (places_[i].value() & kIsIn) != 0 ? 1 : 0;
        }
        return found;
    }

  private:
    /// Beside a process id in its place. Linux has process ids below 2^22.
    static constexpr std::uint32_t kIsIn = std::uint32_t{1} << 31U;

    std::array<SharedNumber<std::uint32_t>, kMost> places_{};
};

}  // namespace tollgate
