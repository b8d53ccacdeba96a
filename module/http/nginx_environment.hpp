#pragma once

#include <chrono>
#include <functional>

#include "module/http/nginx.hpp"
#include "module/process/environment.hpp"

// The process that the engine runs in: an nginx worker.
namespace tollgate::http {

/// The node's wall clock, as of this turn of the event loop.
inline Instant node_time() {
    const ngx_time_t* now = ngx_timeofday();
    return Instant(std::chrono::seconds(now->sec) + std::chrono::milliseconds(now->msec));
}

/// The clocks of the system and of nginx.
class NginxClock final : public Clock {
  public:
    /// Reads the clock now. nginx updates its own steady clock (ngx_current_msec) only once per
    /// turn.
    ExactSteadyTime steady() const noexcept override {
        return std::chrono::floor<ExactSteadyTime>(
            std::chrono::steady_clock::now().time_since_epoch());
    }
    Instant wall() const noexcept override { return node_time(); }
};

/// Writes to a log of nginx, which must outlive it.
class NginxLog final : public Log {
  public:
    explicit NginxLog(ngx_log_t* log) : log_(log) {}
    void write(LogLevel level, std::string_view text) noexcept override;

  private:
    ngx_log_t* log_;
};

/// Calls a handler once, when a graceful shutdown of this worker begins. It may still send data.
class ShutdownNotice {
  public:
    /// Throws std::bad_alloc if nginx has no connection left.
    ShutdownNotice(std::function<void()> handler, ngx_log_t* log);
    ~ShutdownNotice();
    ShutdownNotice(const ShutdownNotice&) = delete;
    ShutdownNotice& operator=(const ShutdownNotice&) = delete;

  private:
    std::function<void()> handler_;
    ngx_connection_t* connection_;
};

/// Timers in nginx's event loop.
class NginxEventLoop final : public EventLoop {
  public:
    /// The log is for nginx's debug messages.
    explicit NginxEventLoop(ngx_log_t* log) : log_(log) {}
    std::unique_ptr<Timer> make_timer(std::function<void()> handler) override;

  private:
    ngx_log_t* log_;
};

/// The worker process of nginx that this code runs in.
class NginxWorker final : public WorkerProcess {
  public:
    std::size_t number() const noexcept override { return ngx_worker; }
    std::uint32_t process() const noexcept override { return static_cast<std::uint32_t>(ngx_pid); }
    bool is_exiting() const noexcept override { return ngx_exiting != 0; }
    bool is_alive(std::uint32_t process) const noexcept override;
};

}  // namespace tollgate::http
