#include "module/store/quota_states.hpp"

#include <algorithm>
#include <limits>

namespace tollgate {

namespace {

template <typename Number>
Number nearest(std::int64_t value) {
    return static_cast<Number>(std::clamp<std::int64_t>(value, std::numeric_limits<Number>::min(),
                                                        std::numeric_limits<Number>::max()));
}

}  // namespace

QuotaStates::Small::Small(const Key& whose, const TableQuota& quota, const QuotaState& state)
    : key(whose),
      shape(quota.shape),
      windows{},
      lease(nearest<std::uint32_t>(state.lease)),
      told_at(state.told_at.time_since_epoch().count()),
      asked(state.asked.count()),
      banned_until(state.banned_until.time_since_epoch().count()),
      arrivals_slot(state.arrivals.slot),
      arrivals_now(nearest<std::uint16_t>(state.arrivals.now)),
      arrivals_before(nearest<std::uint16_t>(state.arrivals.before)),
      strikes_told(nearest<std::uint16_t>(state.strikes_told)),
      strikes_untold(nearest<std::uint16_t>(state.strikes_untold)) {
    for (std::size_t i = 0; i < windows.size(); ++i) {
        const QuotaState::Window& window = state.windows[i];
        windows[i] = {
            nearest<std::uint32_t>(window.told.number), nearest<std::uint32_t>(window.told.count),
            nearest<std::uint32_t>(window.told.previous), nearest<std::int32_t>(window.owed)};
    }
}

QuotaState QuotaStates::Small::unpack() const {
    QuotaState state;
    for (std::size_t i = 0; i < windows.size(); ++i) {
        const Window& window = windows[i];
        state.windows[i] = {{window.number, window.count, window.previous}, window.owed};
    }
    state.lease = lease;
    state.told_at = Instant(std::chrono::milliseconds(told_at.value()));
    state.asked = SteadyTime(asked.value());
    state.banned_until = Instant(std::chrono::milliseconds(banned_until.value()));
    state.strikes_told = strikes_told;
    state.strikes_untold = strikes_untold;
    state.arrivals = {arrivals_slot.value(), arrivals_now, arrivals_before};
    return state;
}

bool QuotaStates::is_small(const TableQuota& quota) {
    static_assert(SmallTable::place_size() == 96, "a million keys are to fit 256 MiB");
    // What a window owes is at most its limit.
    constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();
    return quota.rates.size() <= std::tuple_size_v<decltype(Small::windows)> &&
           std::ranges::all_of(quota.rates,
                               [](const Rate& rate) { return rate.requests <= kLargest; });
}

QuotaState QuotaStates::load(const Key& key, const TableQuota& quota) const {
    Place place;
    return load(key, quota, place);
}

QuotaState QuotaStates::load(const Key& key, const TableQuota& quota, Place& place) const {
    if (is_small(quota)) {
        place = small_.find(key);
        return place && small_.at(place).shape == quota.shape ? small_.at(place).unpack()
                                                              : QuotaState{};
    }
    place = large_.find(key);
    return place && large_.at(place).shape == quota.shape ? large_.at(place).state : QuotaState{};
}

void QuotaStates::save(const Key& key, const TableQuota& quota, const QuotaState& state,
                       SteadyTime now) {
    save(Place{}, key, quota, state, now);
}

void QuotaStates::save(Place place, const Key& key, const TableQuota& quota,
                       const QuotaState& state, SteadyTime now) {
    if (is_small(quota)) {
        small_.put_at(place, key, now, key, quota, state);
    } else {
        large_.put_at(place, key, now, key, quota, state);
    }
}

}  // namespace tollgate
