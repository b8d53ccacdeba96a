#pragma once

extern "C" {
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>
}

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace tollgate::redis {

/// A timer that fires later than this indicates that the event loop has stalled.
inline constexpr std::chrono::milliseconds kLateTimer{20};

/// An event of nginx's event loop without a connection: a timer, or an event that is posted to the
/// end of an iteration. The destructor cancels it.
class Event {
  public:
    /// Creates an event that calls this member function of `owner`, which must not throw.
    template <auto Method, typename Owner>
    static Event calling(Owner* owner, ngx_log_t* log) {
        const auto handler = [](ngx_event_t* event) noexcept {
            (static_cast<Owner*>(static_cast<ngx_connection_t*>(event->data)->data)->*Method)();
        };
        return Event(owner, handler, log);
    }
    ~Event() { cancel(); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;

    /// Whether a worker that shuts down exits without waiting for the timer.
    void set_cancelable(bool passes) { event_.cancelable = passes ? 1 : 0; }

    /// Starts the timer. A timer that runs fires at the earlier time, or up to 300 ms before the
    /// later one. ngx_add_timer alone keeps the old time if both differ by less than 300 ms
    /// (NGX_TIMER_LAZY_DELAY).
    void start(ngx_msec_t delay) {
        if (event_.timer_set != 0 &&
            static_cast<ngx_msec_int_t>(ngx_current_msec + delay - event_.timer.key) < 0) {
            ngx_del_timer(&event_);
        }
        ngx_add_timer(&event_, delay);
    }
    /// Starts the timer for a time of the clock. nginx counts from the start of the iteration, so
    /// the timer may fire early: the handler must check the clock, and may start the timer again.
    void start_until(std::chrono::steady_clock::time_point end) {
        const auto rest =
            std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
        start(static_cast<ngx_msec_t>(std::max<std::int64_t>(rest.count(), 0)));
    }
    bool is_running() const { return event_.timer_set != 0; }

    void post() {
        if (event_.posted == 0) {
            ngx_post_event(&event_, &ngx_posted_events);
        }
    }
    /// Posts the event: its handler runs after the events of the next iteration. Has no effect if
    /// the event is posted already.
    void post_next() {
        if (event_.posted == 0) {
            ngx_post_event(&event_, &ngx_posted_next_events);
        }
    }
    void cancel() noexcept {
        if (event_.timer_set != 0) {
            ngx_del_timer(&event_);
        }
        if (event_.posted != 0) {
            ngx_delete_posted_event(&event_);
        }
    }

  private:
    Event(void* owner, ngx_event_handler_pt handler, ngx_log_t* log) {
        ident_.fd = static_cast<ngx_socket_t>(-1);
        ident_.data = owner;
        event_.data = &ident_;
        event_.log = log;
        event_.handler = handler;
    }

    ngx_connection_t ident_{};  ///< an event's data must have this layout: debug builds log its fd
    ngx_event_t event_{};
};

}  // namespace tollgate::redis
