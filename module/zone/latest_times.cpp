#include "module/zone/latest_times.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <stdexcept>

namespace tollgate {

namespace {

/// The other 42 bits of a place are a time in ms: enough for 139 years.
constexpr unsigned kTagBits = 22;
constexpr std::uint64_t kTagMask = (std::uint64_t{1} << kTagBits) - 1;

/// The lower bits of the hash choose the set.
std::uint64_t tag_of(std::uint64_t hash) {
    return hash >> (64 - kTagBits);
}

std::uint64_t make_place(SteadyTime time, std::uint64_t hash) {
    return static_cast<std::uint64_t>(time.count()) << kTagBits | tag_of(hash);
}

SteadyTime time_in(std::uint64_t place) {
    return SteadyTime(static_cast<std::int64_t>(place >> kTagBits));
}

bool belongs_to(std::uint64_t place, std::uint64_t hash) {
    return (place & kTagMask) == tag_of(hash);
}

/// A reader that sees a new word in a place also sees the floor that the old word has raised.
std::uint64_t read(std::uint64_t& word) {
    return std::atomic_ref(word).load(std::memory_order_acquire);
}

void write(std::uint64_t& word, std::uint64_t value) {
    std::atomic_ref(word).store(value, std::memory_order_release);
}

}  // namespace

LatestTimes::LatestTimes(std::span<Set> sets) : sets_(sets.first(std::bit_floor(sets.size()))) {
    if (sets.empty()) {
        throw std::length_error("no memory for times");
    }
}

LatestTimes::Set& LatestTimes::set_of(std::uint64_t hash) const {
    return sets_[hash & (sets_.size() - 1)];
}

void LatestTimes::raise(std::uint64_t hash, SteadyTime time) {
    time = std::max(time, SteadyTime());  // A time before the node was started is like none.
    Set& set = set_of(hash);
    std::uint64_t* place = &set.places.front();
    for (std::uint64_t& other : set.places) {
        if (belongs_to(other, hash)) {
            place = &other;
            break;
        }
        if (time_in(other) < time_in(*place)) {
            place = &other;
        }
    }
    const SteadyTime old = time_in(*place);
    if (!belongs_to(*place, hash)) {
        const auto lost = static_cast<std::uint64_t>(std::min(old, time).count());
        write(set.floor, std::max(set.floor, lost));
    }
    if (time > old) {
        write(*place, make_place(time, hash));
    }
}

SteadyTime LatestTimes::exact(std::uint64_t hash) const {
    Set& set = set_of(hash);
    // Most sets are empty. The first place is used first, and never becomes free.
    if (read(set.places.front()) == 0) {
        return SteadyTime();
    }
    for (std::uint64_t& place : set.places) {
        const std::uint64_t value = read(place);
        if (belongs_to(value, hash)) {
            return time_in(value);
        }
    }
    return SteadyTime();
}

SteadyTime LatestTimes::last(std::uint64_t hash) const {
    const SteadyTime own = exact(hash);
    // Read after the places: an evicted time reaches the floor before its place is used again.
    return std::max(own, SteadyTime(static_cast<std::int64_t>(read(set_of(hash).floor))));
}

std::size_t LatestTimes::places() const {
    return sets_.size() * sets_.front().places.size();
}

}  // namespace tollgate
