#pragma once

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "module/zone/named_blocks.hpp"

namespace tollgate {

/// A pass over the held entries of a table.
struct HeldPass {
    std::chrono::milliseconds now{};
    bool is_full = true;  ///< looks at all of them, not only where one may be due
};

/// Which sets of a SetAssociative may contain held entries, and for each of them a time before
/// which none of its entries is due. In memory that workers share; all zeros at first. The caller
/// holds the lock of the stripe. A worker that is killed at any time leaves sets that are looked at
/// too early, never too late. A time has one byte: after kLongestPause without a pass, it is not
/// known whether it has come, and the next pass is full.
class HeldSets {
  public:
    /// A set is looked at again after this time at the latest, whatever time it has.
    static constexpr std::chrono::milliseconds kMostAhead{4000};
    static constexpr std::chrono::milliseconds kLongestPause{16'000};
    /// A step of a pass ends after this number of sets.
    static constexpr std::uint32_t kSetsSearched = 4096;

    /// The size for this number of sets, in bytes.
    static constexpr std::size_t memory_for(std::size_t sets) { return size_of_bits(sets) + sets; }
    HeldSets(std::byte* memory, std::uint32_t sets)
        : bits_(reinterpret_cast<std::uint64_t*>(memory)),
          due_(reinterpret_cast<std::uint8_t*>(memory + size_of_bits(sets))),
          sets_(sets) {}

    /// An entry of this set is held, and not due before this time.
    void add(std::uint32_t set, std::chrono::milliseconds due,
             std::chrono::milliseconds now) const {
        std::uint64_t& bits = bits_[set / 64];
        const std::uint8_t time = code_of(due, now);
        const bool is_earlier = time == kDue || (due_[set] != kDue && is_ahead(due_[set], time));
        if ((bits & bit_of(set)) == 0 || is_earlier) {
            due_[set] = time;
        }
        bits |= bit_of(set);
    }

    /// Looks at the sets from this one on where an entry may be due, until `look` returns false,
    /// `most` sets were looked at, or kSetsSearched were searched. Returns the next set; 0 at the
    /// end. `look` calls put_off() or remove().
    template <typename Look>
    std::uint32_t visit(std::uint32_t set, std::uint32_t most, const HeldPass& pass,
                        Look look) const {
        bool goes_on = true;
        const std::uint8_t now = code_of(pass.now);
        const std::uint32_t begin = std::min(set, sets_) / 64 * 64;
        const std::uint32_t end = sets_ - begin > kSetsSearched ? begin + kSetsSearched : sets_;
        std::uint64_t from = ~std::uint64_t{0} << set % 64;
        for (std::uint32_t first = begin; first < end; first += 64) {
            for (std::uint64_t bits = bits_[first / 64] & from; bits != 0; bits &= bits - 1) {
                const auto next = first + static_cast<std::uint32_t>(std::countr_zero(bits));
                if (!pass.is_full && due_[next] != kDue && is_ahead(due_[next], now)) {
                    continue;
                }
                if (!goes_on || most-- == 0) {
                    return next;
                }
                goes_on = look(next);
            }
            from = ~std::uint64_t{0};
        }
        return end < sets_ ? end : 0;
    }
    /// No entry of this set is due before this time.
    void put_off(std::uint32_t set, std::chrono::milliseconds due,
                 std::chrono::milliseconds now) const {
        due_[set] = code_of(due, now);
    }
    /// No entry of this set is held.
    void remove(std::uint32_t set) const { bits_[set / 64] &= ~bit_of(set); }

  private:
    /// The code of a time is the number of its tick, modulo kCodes, and 1 more. kDue: at once.
    static constexpr std::uint8_t kDue = 0;
    static constexpr int kCodes = 255;
    static constexpr std::chrono::milliseconds kTick{128};
    static std::uint8_t code_of(std::chrono::milliseconds time) {
        return static_cast<std::uint8_t>(static_cast<std::uint64_t>(time / kTick) % kCodes + 1);
    }
    static std::uint8_t code_of(std::chrono::milliseconds due, std::chrono::milliseconds now) {
        return due <= now ? kDue : code_of(std::min(due, now + kMostAhead));
    }
    /// Whether a time is after another one, by kMostAhead at most.
    static bool is_ahead(std::uint8_t time, std::uint8_t before) {
        const int ticks = time - before;
        const int ahead = ticks < 0 ? ticks + kCodes : ticks;
        return ahead > 0 && ahead <= kMostAhead / kTick + 1;
    }
    static_assert(kLongestPause + 2 * kMostAhead < kCodes * kTick);

    static std::uint64_t bit_of(std::uint32_t set) { return std::uint64_t{1} << set % 64; }
    /// The size of one bit per set, in whole cache lines.
    static constexpr std::size_t size_of_bits(std::size_t sets) {
        constexpr std::size_t kBits = kCacheLine * 8;
        return (sets + kBits - 1) / kBits * kCacheLine;
    }

    std::uint64_t* bits_;
    std::uint8_t* due_;
    std::uint32_t sets_;
};

}  // namespace tollgate
