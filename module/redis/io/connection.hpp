#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "module/redis/io/connection_listener.hpp"
#include "module/redis/io/event.hpp"
#include "module/redis/io/late_replies.hpp"
#include "module/redis/io/link.hpp"
#include "module/redis/io/probe.hpp"
#include "module/redis/io/successor.hpp"
#include "module/redis/protocol/backoff.hpp"
#include "module/redis/protocol/breaker.hpp"
#include "module/redis/protocol/connection_state.hpp"
#include "module/redis/protocol/log_text.hpp"
#include "module/redis/protocol/log_throttle.hpp"
#include "module/redis/protocol/pipeline.hpp"

namespace tollgate::redis {

/// What the calls of a connection are like.
struct CallTraits {
    ReplyLimits limits{};
    /// Whether the user may make some of the calls and not others. A call that is forbidden then
    /// fails alone. Otherwise it counts as a failure of the server, as for calls of one script.
    bool are_various = false;
};

/// The connection of a worker to a Redis, for calls of scripts. Calls are pipelined: those made in
/// one iteration of the event loop are sent in one write. A lost connection is replaced
/// automatically, behind a circuit breaker. A call that times out ends the use of its link: all
/// calls on it have failed for those who wait. The replies are still read, for kLateReplies times
/// the timeout: until then, Redis may execute calls whose deadlines have not passed. An error that
/// concerns the whole server does the same and counts as a failure of the server. READONLY does not
/// count while another address is left to try.
///
/// If the address in use leaves the list, the connection moves: a second link connects to a new
/// address and tests it while the first one is in use. New calls are then held until those on the
/// first link are answered, at most for `timeout`, and are sent on the second link.
class Connection : private LinkOwner, private ProbeOwner, private SuccessorOwner {
  public:
    /// Starts to connect at once, or as soon as an address is known. What `access` refers to,
    /// `addresses` and `listener` must outlive the connection. `probe_key` is the key that
    /// probe_script() writes.
    Connection(const Access& access, const SocketAddresses& addresses, std::string probe_key,
               ConnectionListener& listener, CallTraits traits = {});

    /// Closes the socket. The handlers of pending calls are destroyed; no callback follows.
    ~Connection() override = default;
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    /// Calls a script. The call is queued while the connection is being established. If Redis is
    /// unreachable or memory is short, the handler's on_failure is called before this function
    /// returns.
    void run(Call call, std::unique_ptr<ReplyHandler> handler) noexcept;

    /// The address of the server that replies now, or that calls are sent to; nothing at first.
    const std::optional<SocketAddress>& address() const noexcept { return link_->address(); }

    /// Whether no call is pending.
    bool is_idle() const noexcept { return pipeline_.empty(); }

    /// Whether run() may succeed.
    bool is_reachable() const noexcept { return !is_breaker_open() && !link_->is_shutting_down(); }
    /// See ConnectionListener::on_breaker_open.
    bool is_breaker_open() const noexcept { return breaker_.state() == Breaker::State::kOpen; }

    /// The list of addresses has changed: connects at once if the link is down, and starts or ends
    /// a move.
    void follow_addresses() noexcept;
    /// Whether the address in use is no longer in the list, and no new one could be used yet.
    bool is_moving() const noexcept { return successor_ != nullptr; }

    /// Reports an error of ErrorScope::kServer that a handler found among the values of a script.
    /// Errors that answer a whole call are detected here. May be called from a handler.
    void report_failure(std::string_view message) noexcept;

    /// Writes and reads as much as the socket allows, immediately. For timers: a timer may fire
    /// before replies are read that arrived while the event loop stalled. And when a graceful
    /// shutdown begins: the worker then waits for pending calls.
    void poll() noexcept {
        link_->poll();
        watch_deadlines();
    }

  private:
    using Time = Pipeline::Time;

    void on_ready() override;
    void on_written(std::uint64_t bytes) noexcept override;
    void on_reply(const redisReply& reply) override;
    void on_lost(std::string_view reason) noexcept override;
    void on_accepted(const std::optional<ObservedTime>& time) noexcept override;
    void on_not_accepted(std::string_view reason) noexcept override;
    void on_successor_change() noexcept override;

    bool needs_probe() const noexcept;
    void note_accepted(const std::optional<ObservedTime>& time) noexcept;
    void start_move() noexcept;
    void move_when_answered() noexcept;
    void take_successor() noexcept;
    bool push(Call&& call, std::unique_ptr<ReplyHandler>&& handler) noexcept;
    void release() noexcept;
    void fail(std::string_view reason, LateReplies* late = nullptr) noexcept;
    void leave_late(Time now) noexcept;
    void end_late(Time now) noexcept;
    bool may_move() const noexcept;
    bool try_next_address(bool is_readonly) noexcept;
    void reconnect() noexcept;
    std::size_t other_addresses() const noexcept {
        return std::max<std::size_t>(addresses_.size(), 1) - 1;
    }
    bool may_connect() const noexcept {
        return link_->is_down() && !link_->is_shutting_down() && !addresses_.empty();
    }
    void on_timer() noexcept;
    void time_out(Time now) noexcept;
    void watch_deadlines() noexcept;
    void hold_exit() noexcept;
    void log_loss(std::string_view reason, bool is_failure) noexcept;

    const Access access_;
    const SocketAddresses& addresses_;
    const std::string probe_key_;
    ConnectionListener& listener_;
    const CallTraits traits_;
    std::unique_ptr<Link> link_;
    std::unique_ptr<Successor> successor_;            ///< during a move
    std::vector<std::unique_ptr<LateReplies>> late_;  ///< in the order of their ends
    Pipeline pipeline_;
    Breaker breaker_;
    Backoff backoff_;
    std::minstd_rand random_;
    LogThrottle losses_;
    LogText reason_;  ///< why the link is down
    ConnectionState state_;
    std::size_t untried_ = 0;                ///< addresses that may be tried at once after READONLY
    std::optional<SocketAddress> accepted_;  ///< the address that accepted a write last
    Time retry_at_{};                        ///< while the link is down
    Time next_prompt_connect_{};  ///< a link that is lost before is replaced after a delay
    Time timer_end_{};            ///< while the timer is running
    Time exit_until_{};           ///< a worker that shuts down waits for pending calls until then
    Event timer_;
    Event exit_timer_;  ///< runs in a worker that shuts down; a graceful shutdown waits for it
    Event move_event_;
};

}  // namespace tollgate::redis
