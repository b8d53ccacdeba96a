#include "module/http/management/operation_turns.hpp"

#include <algorithm>
#include <ctime>
#include <utility>

namespace tollgate::http {

namespace {

using Clock = std::chrono::steady_clock;

/// The time that a processor has worked for this process, also in the kernel.
std::chrono::nanoseconds processor_time() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

OperationTurns::OperationTurns(const std::uint64_t& requests, int part, ngx_log_t* log)
    : requests_(requests),
      pace_(part),
      next_(redis::Event::calling<&OperationTurns::run>(this, log)) {}

void OperationTurns::push(std::function<void()> step) {
    const bool is_first = steps_.empty();
    steps_.push_back(std::move(step));
    const bool is_turn = end_ != management::TurnPace::Time{};
    if (is_first && !is_turn) {
        schedule();
    }
}

void OperationTurns::run() noexcept {
    const auto begin = processor_time();
    end_ = Clock::now() + management::TurnPace::kLongestTurn;
    while (!steps_.empty() && !is_over()) {
        const auto step = std::move(steps_.front());
        steps_.pop_front();
        step();
    }
    end_ = {};
    pace_.note_turn(Clock::now(), processor_time() - begin);
    if (!steps_.empty()) {
        schedule();
    }
}

/// A posted event does not keep a worker that shuts down.
void OperationTurns::schedule() noexcept {
    const auto pause =
        std::chrono::ceil<std::chrono::milliseconds>(pace_.pause(Clock::now(), requests_));
    if (pause == std::chrono::milliseconds::zero() && ngx_exiting == 0) {
        next_.post_next();
    } else {
        next_.start(static_cast<ngx_msec_t>(std::max<std::int64_t>(pause.count(), 1)));
    }
}

void OperationTurns::shut_down() noexcept {
    if (!steps_.empty()) {
        next_.start(1);
    }
}

}  // namespace tollgate::http
