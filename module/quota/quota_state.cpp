#include "module/quota/quota_state.hpp"

#include <cmath>

namespace tollgate {

void Arrivals::note(SteadyTime now, std::int64_t count, SteadyTime constant) {
    if (count == 0) {
        return;
    }
    if (now > last) {
        units = static_cast<float>(at(now, constant));
        last = now;
    }
    units += static_cast<float>(count);
}

double Arrivals::at(SteadyTime now, SteadyTime constant) const {
    if (now <= last || units == 0) {
        return units;
    }
    const auto elapsed = static_cast<float>((now - last).count());
    return units * std::exp(-elapsed / static_cast<float>(constant.count()));
}

}  // namespace tollgate
