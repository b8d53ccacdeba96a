#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace tollgate {

/// A number in memory that workers share, where zeros are 0: counted without a lock. Relaxed, since
/// nothing else is read by it. A copy holds what was counted so far.
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
    void set(Value value) noexcept { atomic().store(value, std::memory_order_relaxed); }
    Value value() const noexcept { return atomic().load(std::memory_order_relaxed); }

    /// Becomes `value` if it is `expected`.
    void replace(Value expected, Value value) noexcept {
        atomic().compare_exchange_strong(expected, value, std::memory_order_relaxed);
    }

  private:
    // C++20 has no atomic_ref to what is const.
    std::atomic_ref<Value> atomic() const noexcept {
        return std::atomic_ref<Value>(const_cast<Value&>(value_));
    }

    alignas(std::atomic_ref<Value>::required_alignment) Value value_{};
};

/// Only grows.
using Counter = SharedNumber<std::uint64_t>;
/// Grows and shrinks.
using Gauge = SharedNumber<std::int64_t>;

/// How many durations were at most so long, in classes that the field is used to.
struct Histogram {
    /// The longest of each class; a last class has all that is longer.
    static constexpr std::array<std::chrono::microseconds, 14> kBounds{
        std::chrono::microseconds(50),  std::chrono::microseconds(100),
        std::chrono::microseconds(250), std::chrono::microseconds(500),
        std::chrono::milliseconds(1),   std::chrono::microseconds(2500),
        std::chrono::milliseconds(5),   std::chrono::milliseconds(10),
        std::chrono::milliseconds(25),  std::chrono::milliseconds(50),
        std::chrono::milliseconds(100), std::chrono::milliseconds(250),
        std::chrono::milliseconds(500), std::chrono::seconds(1)};

    std::array<Counter, kBounds.size() + 1> classes{};  ///< each without the shorter ones
    Counter microseconds;                               ///< the sum of all durations

    void note(std::chrono::microseconds duration) noexcept {
        std::size_t index = 0;
        while (index < kBounds.size() && duration > kBounds[index]) {
            ++index;
        }
        classes[index].add();
        // A clock that was set back gives durations below 0, which no sum of them may have.
        microseconds.add(duration.count() > 0 ? static_cast<std::uint64_t>(duration.count()) : 0);
    }
};

/// Which workers are in some state. Each has the place of its number (`ngx_worker`), which holds
/// its process id while it is: a worker that was killed is forgotten when its successor has
/// started, and one that leaves after a reload doesn't clear what its successor has set.
class WorkerSet {
  public:
    /// Workers beyond are not counted.
    static constexpr std::size_t kMost = 128;

    /// The worker has started, and is in no state yet.
    void start(std::size_t worker) noexcept {
        if (worker < kMost) {
            places_[worker].set(0);
        }
    }
    void insert(std::size_t worker, std::uint32_t process) noexcept {
        if (worker < kMost) {
            places_[worker].set(process);
        }
    }
    void erase(std::size_t worker, std::uint32_t process) noexcept {
        if (worker < kMost) {
            places_[worker].replace(process, 0);
        }
    }
    /// Whether another one than `process` is, for which `is_alive` is true: one that was killed
    /// stays until its successor has started.
    template <typename IsAlive>
    bool has_other(std::uint32_t process, IsAlive is_alive) const {
        return std::ranges::any_of(places_, [&](const auto& place) {
            const std::uint32_t other = place.value();
            return other != 0 && other != process && is_alive(other);
        });
    }
    /// How many of the first `workers` are.
    std::uint64_t count(std::size_t workers) const noexcept {
        std::uint64_t found = 0;
        for (std::size_t i = 0; i < workers && i < kMost; ++i) {
            found += places_[i].value() != 0 ? 1 : 0;
        }
        return found;
    }

  private:
    std::array<SharedNumber<std::uint32_t>, kMost> places_{};
};

}  // namespace tollgate
