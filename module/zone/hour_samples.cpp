#include "module/zone/hour_samples.hpp"

namespace tollgate {

namespace {

constexpr SteadyTime kMinute = std::chrono::minutes(1);
/// After the end of a minute.
constexpr SteadyTime kLatest = std::chrono::seconds(5);

/// The number of the minute that has begun.
std::uint64_t number_of_minute(SteadyTime now) {
    return static_cast<std::uint64_t>(now / kMinute) + 1;
}

}  // namespace

SteadyTime HourSamples::until_next(SteadyTime now) {
    return kMinute - now % kMinute;
}

bool HourSamples::is_due(SteadyTime now) const {
    const auto minute = number_of_minute(now);
    return now % kMinute < kLatest && slots_[minute % kSamples].minute != minute;
}

void HourSamples::record(SteadyTime now, const HourSample& sample) {
    const auto minute = number_of_minute(now);
    if (!is_due(now)) {
        return;
    }
    Slot& slot = slots_[minute % kSamples];
    slot.minute = 0;
    slot.sample = sample;
    slot.minute = minute;
}

Hour HourSamples::hour(SteadyTime now) const {
    Hour hour{.age = std::chrono::floor<std::chrono::seconds>(now % kMinute), .samples = {}};
    hour.samples.reserve(kSamples);
    const auto last = number_of_minute(now);
    for (auto minute = last < kSamples ? 1 : last - kSamples + 1; minute <= last; ++minute) {
        const Slot& slot = slots_[minute % kSamples];
        hour.samples.push_back(slot.minute == minute ? std::optional(slot.sample) : std::nullopt);
    }
    return hour;
}

}  // namespace tollgate
