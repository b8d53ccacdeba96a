#include "module/quota/quota_state.hpp"

#include <algorithm>

namespace tollgate {

namespace {

constexpr SteadyTime kSlot{100};

}  // namespace

void Arrivals::note(SteadyTime time, std::int64_t units) {
    const std::int64_t current = time / kSlot;
    // Another worker's time may be a little ahead.
    if (current > slot) {
        before = current == slot + 1 ? now : 0;
        now = 0;
        slot = current;
    }
    now += units;
}

std::int64_t Arrivals::expected(SteadyTime time) const {
    const std::int64_t current = time / kSlot;
    if (current <= slot) {
        return std::max(now, before);
    }
    return current == slot + 1 ? now : 0;
}

SteadyTime Arrivals::last() const {
    return (slot + 1) * kSlot;
}

}  // namespace tollgate
