#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <utility>

#include "module/quota/redis_clock.hpp"

namespace tollgate {

/// A RedisClock in memory that workers share. Reading needs no lock: there are two copies, and a
/// writer changes the one that is not read, then the number of the current one (a latch, as Linux's
/// seqcount_latch_t). A worker that is killed while it writes leaves the clock as it was. Plain
/// memory, all zeros at first.
class SharedClock {
  public:
    /// The clock as it was last written.
    RedisClock read() const noexcept {
        const std::atomic_ref written(written_);
        for (;;) {
            const std::uint64_t number = written.load(std::memory_order_acquire);
            const Words words = load(copies_[number % 2], std::make_index_sequence<kWords>());
            std::atomic_thread_fence(std::memory_order_acquire);
            if (written.load(std::memory_order_relaxed) == number) {
                return std::bit_cast<RedisClock>(words);
            }
        }
    }

    /// Replaces the clock. One writer at a time: the caller holds a lock.
    void write(const RedisClock& clock) noexcept {
        const auto words = std::bit_cast<Words>(clock);
        const std::uint64_t next = written_ + 1;
        std::atomic_thread_fence(std::memory_order_release);
        for (std::size_t i = 0; i < words.size(); ++i) {
            std::atomic_ref(copies_[next % 2][i]).store(words[i], std::memory_order_relaxed);
        }
        std::atomic_ref(written_).store(next, std::memory_order_release);
    }

  private:
    static constexpr std::size_t kWords = sizeof(RedisClock) / sizeof(std::uint64_t);
    using Words = std::array<std::uint64_t, kWords>;

    template <std::size_t... kNumbers>
    static Words load(Words& copy, std::index_sequence<kNumbers...> /*words*/) noexcept {
        return {std::atomic_ref(copy[kNumbers]).load(std::memory_order_relaxed)...};
    }

    // std::atomic_ref needs an object that is not const.
    mutable std::array<Words, 2> copies_{};
    mutable std::uint64_t written_ = 0;  ///< how often the clock was written
};

}  // namespace tollgate
