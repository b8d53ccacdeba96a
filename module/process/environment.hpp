#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "module/process/time.hpp"

// The interfaces of the engine to the process that it runs in. nginx provides it in module/http;
// unit tests provide a simulated one.
namespace tollgate {

/// A base of classes whose objects others refer to: they are neither copied nor moved.
class Pinned {
  public:
    Pinned(const Pinned&) = delete;
    Pinned& operator=(const Pinned&) = delete;

  protected:
    Pinned() = default;
    ~Pinned() = default;
};

/// The node's clocks, read when they are called.
class Clock : private Pinned {
  public:
    virtual ~Clock() = default;

    /// The steady clock that all processes of the node share.
    virtual ExactSteadyTime steady() const noexcept = 0;
    /// The wall clock.
    virtual Instant wall() const noexcept = 0;
};

/// A timer, or a call that is deferred to the end of this turn of the event loop. Destroying it
/// cancels both.
class Timer : private Pinned {
  public:
    virtual ~Timer() = default;

    /// Calls the handler after this time. If the timer runs, the handler is called at the earlier
    /// time, or up to 300 ms before the later one.
    virtual void start(std::chrono::milliseconds delay) noexcept = 0;
    /// Calls the handler once at the end of this turn of the event loop, even if it is posted
    /// several times.
    virtual void post() noexcept = 0;
    virtual void cancel() noexcept = 0;
};

/// Makes timers.
class EventLoop : private Pinned {
  public:
    virtual ~EventLoop() = default;

    /// A timer that calls `handler`, which must not throw. A graceful shutdown does not wait for
    /// it. Throws std::bad_alloc.
    virtual std::unique_ptr<Timer> make_timer(std::function<void()> handler) = 0;
};

/// How severe a message is, the worst first.
enum class LogLevel : std::uint8_t { kCritical, kError, kWarning };

/// Where messages go.
class Log : private Pinned {
  public:
    virtual ~Log() = default;

    /// Writes one line. The text has no line break and does not name the program.
    virtual void write(LogLevel level, std::string_view text) noexcept = 0;
};

/// The worker process that the engine runs in.
class WorkerProcess : private Pinned {
  public:
    virtual ~WorkerProcess() = default;

    /// Its number among the workers, from 0.
    virtual std::size_t number() const noexcept = 0;
    virtual std::uint32_t process() const noexcept = 0;
    /// Whether a graceful shutdown has begun.
    virtual bool is_exiting() const noexcept = 0;
    /// Whether the process of another worker still runs.
    virtual bool is_alive(std::uint32_t process) const noexcept = 0;
};

/// All of the above. Each must outlive the engine.
struct Environment {
    const Clock& clock;
    EventLoop& events;
    Log& log;
    const WorkerProcess& worker;
};

/// Runs a step. False if it threw; the exception is logged.
template <typename Step>
bool attempt(Log& log, Step&& step) noexcept {
    try {
        std::forward<Step>(step)();
        return true;
    } catch (const std::exception& e) {
        log.write(LogLevel::kCritical, e.what());
        return false;
    }
}

}  // namespace tollgate
