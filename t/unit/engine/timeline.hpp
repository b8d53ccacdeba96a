#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "t/unit/failing_allocator.hpp"

namespace tollgate {

/// The true time of a simulation and its events. Each simulated clock has an offset from it.
class Timeline {
  public:
    using Time = std::chrono::microseconds;

    Time now() const { return now_; }
    void at(Time time, std::function<void()> step) {
        const UnlimitedMemory memory;
        steps_.push_back({time, order_++, std::move(step)});
        std::ranges::push_heap(steps_, Step::is_later);
    }
    void run_until(Time end) {
        while (!steps_.empty() && steps_.front().time <= end) {
            const Step step = take_first();
            now_ = std::max(now_, step.time);
            step.run();
        }
        now_ = std::max(now_, end);
    }
    /// Time passes, and no step runs: those that were due meanwhile run late.
    void skip_to(Time time) { now_ = std::max(now_, time); }
    /// When the next step is due.
    std::optional<Time> next() const {
        return steps_.empty() ? std::nullopt : std::optional(steps_.front().time);
    }

  private:
    struct Step {
        Time time;
        std::int64_t order;
        std::function<void()> run;
        static bool is_later(const Step& one, const Step& other) {
            return std::tie(one.time, one.order) > std::tie(other.time, other.order);
        }
    };
    Step take_first() {
        std::ranges::pop_heap(steps_, Step::is_later);
        Step step = std::move(steps_.back());
        steps_.pop_back();
        return step;
    }

    Time now_{};
    std::int64_t order_ = 0;
    std::vector<Step> steps_;  ///< a heap: the first step is the earliest
};

}  // namespace tollgate
