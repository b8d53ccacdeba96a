#pragma once

#include <chrono>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "t/unit/failing_allocator.hpp"

namespace tollgate {

/// The true time of a simulation and its events. Each simulated clock has an offset from it.
class Timeline {
  public:
    using Time = std::chrono::milliseconds;

    Time now() const { return now_; }
    void at(Time time, std::function<void()> step) {
        const UnlimitedMemory memory;
        steps_.push({time, order_++, std::move(step)});
    }
    void run_until(Time end) {
        while (!steps_.empty() && steps_.top().time <= end) {
            const Step step = take_first();
            now_ = step.time;
            step.run();
        }
        now_ = end;
    }

  private:
    struct Step {
        Time time;
        int order;
        std::function<void()> run;
        bool operator<(const Step& other) const {
            return std::tuple(time, order) > std::tuple(other.time, other.order);
        }
    };
    Step take_first() {
        const UnlimitedMemory memory;
        Step step = steps_.top();
        steps_.pop();
        return step;
    }

    Time now_{};
    int order_ = 0;
    std::priority_queue<Step> steps_;
};

}  // namespace tollgate
