#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>

#include "module/management/turn_pace.hpp"
#include "module/redis/io/event.hpp"

namespace tollgate::http {

/// The steps of operations on keys, one after the other, in turns: see TurnPace. There is one turn
/// in an iteration of the event loop, after the requests of that iteration.
class OperationTurns {
  public:
    /// `requests` counts those of the worker, and must outlive this object. `part` is that of
    /// TurnPace.
    OperationTurns(const std::uint64_t& requests, int part, ngx_log_t* log);
    ~OperationTurns() = default;
    OperationTurns(const OperationTurns&) = delete;
    OperationTurns& operator=(const OperationTurns&) = delete;

    /// Adds a step, which must not throw. It runs later, not within this. Throws std::bad_alloc.
    void push(std::function<void()> step);
    /// Whether a step should go on in a later turn.
    bool is_over() const { return std::chrono::steady_clock::now() >= end_; }
    /// The worker shuts down: it does not exit before the next turn.
    void shut_down() noexcept;

  private:
    void run() noexcept;
    void schedule() noexcept;

    const std::uint64_t& requests_;
    std::deque<std::function<void()>> steps_;
    management::TurnPace pace_;
    management::TurnPace::Time end_{};  ///< of this turn; 0: there is none
    redis::Event next_;
};

}  // namespace tollgate::http
