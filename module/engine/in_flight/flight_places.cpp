#include "module/engine/in_flight/flight_places.hpp"

#include <algorithm>

namespace tollgate::engine {

FlightKey FlightPlaces::key_of(const TableQuota& quota) const {
    return flights_.key_of(id_hash_, quota.table_id);
}

bool FlightPlaces::are_required() const {
    for (std::size_t table = 0; table < quotas_->size(); ++table) {
        if (takes_place_in(table)) {
            return true;
        }
    }
    return false;
}

template <typename Enter>
FlightAnswer FlightPlaces::enter_each(Enter enter) {
    for (; next_ < quotas_->size(); ++next_) {
        const TableQuota& quota = (*quotas_)[next_];
        const FlightAnswer answer =
            takes_place_in(next_) ? enter(key_of(quota), quota) : FlightAnswer::kEntered;
        if (answer != FlightAnswer::kEntered) {
            return answer;
        }
    }
    return FlightAnswer::kEntered;
}

FlightAnswer FlightPlaces::enter(FlightWaiter& waiter) {
    return enter_each([&](const FlightKey& key, const TableQuota& quota) {
        return flights_.enter(id_, key, quota, waiter);
    });
}

FlightAnswer FlightPlaces::enter_alone(bool without_limit) {
    return enter_each([&](const FlightKey& key, const TableQuota& quota) {
        return flights_.enter_alone(id_, key, quota, without_limit);
    });
}

void FlightPlaces::leave() noexcept {
    for (std::size_t i = 0; i < next_; ++i) {
        if (takes_place_in(i)) {
            flights_.leave(key_of((*quotas_)[i]));
        }
    }
    next_ = 0;
}

std::vector<FlightState> FlightPlaces::states() const {
    std::vector<FlightState> states;
    for (const TableQuota& quota : *quotas_) {
        if (quota.in_flight != 0) {
            states.push_back({.table = quota.table,
                              .policy = quota.in_flight_policy,
                              .limit = quota.in_flight,
                              .requests = flights_.in_flight(key_of(quota))});
        }
    }
    return states;
}

bool need_places(const Quotas& quotas) {
    return std::ranges::any_of(quotas,
                               [](const TableQuota& quota) { return quota.in_flight != 0; });
}

}  // namespace tollgate::engine
