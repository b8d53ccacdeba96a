#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "module/redis/protocol/interface.hpp"
#include "module/redis/protocol/reply.hpp"
#include "module/redis/protocol/script.hpp"

namespace tollgate::redis {

/// Receives the reply to one call of a script. Exactly one of the first four functions is called,
/// once, while replies are being read; it may make further calls. on_timeout may be called before.
/// If the pipeline is destroyed first, the
/// handler is destroyed without a call: the worker exits, and objects that the handler refers to
/// may be gone.
class ReplyHandler : public Interface {
  public:
    /// The values that the script returned after the token.
    virtual void on_values(ReplyValues values) noexcept = 0;

    /// Redis answered with an error.
    virtual void on_error(std::string_view message) noexcept = 0;

    /// There is no reply: the connection failed, or the call timed out.
    virtual void on_failure() noexcept = 0;

    /// The call was not sent: Redis has not executed it.
    virtual void on_unsent() noexcept { on_failure(); }

    /// There was no reply in time, but it may still come: Redis may execute the call until its
    /// deadline. Returns whether the handler awaits what becomes of the call: one of the other
    /// functions is then called later. Otherwise none is.
    virtual bool on_timeout() noexcept {
        on_failure();
        return false;
    }
};

/// The pending calls of one connection, in order. A script returns the token of its call, so that a
/// missing or an extra reply in the stream is never taken for the reply to another call.
///
/// A call is queued by push(), released when its bytes are in the output buffer, written when the
/// socket has taken all of them, and answered by take().
///
/// A call must be written to the socket within `timeout` after it was pushed, and answered within
/// `timeout` after it was written. All times are read from the clock when they are needed: with the
/// cached time of the event loop, a stall of the worker would appear as a timeout of Redis.
class Pipeline {
  public:
    using Clock = std::chrono::steady_clock;
    using Time = Clock::time_point;

    /// `first_token` should be hard to guess: an unsolicited reply must not match a call.
    Pipeline(std::uint64_t first_token, std::chrono::milliseconds timeout)
        : last_token_(first_token), timeout_(timeout) {}

    /// Adds a call to the queue, until it is released. If it throws std::bad_alloc, nothing is
    /// added and both arguments are unchanged.
    void push(Call&& call, std::unique_ptr<ReplyHandler>&& handler, Time now);
    /// Adds a call at the front of the queue. No call may be released. It is sent with the script's
    /// text: a repetition after NOSCRIPT would be at the end of the queue.
    void push_ahead(Call&& call, std::unique_ptr<ReplyHandler>&& handler, Time now);

    static constexpr std::size_t kAll = SIZE_MAX;
    /// Appends queued calls to `out`, whose end is at `position` of the stream, until `most` calls
    /// are released. If it throws std::bad_alloc, nothing is appended.
    void release(std::string& out, std::uint64_t position, std::size_t most = kAll);
    /// `bytes` bytes of the stream have been written to the socket.
    void note_written(std::uint64_t bytes, Time now) noexcept;

    enum class Taken : std::uint8_t {
        kValues,     ///< the handler received the values
        kError,      ///< the handler received the error
        kAsking,     ///< the reply to ASKING, which precedes the reply to a call
        kRepeated,   ///< Redis does not have the script: the call is queued again with its text
        kMismatched  ///< the reply matches no call: close the connection
    };
    /// Processes the next reply of the stream. If it throws std::bad_alloc, the call is still
    /// pending.
    Taken take(const redisReply& reply);

    /// The time when the call that was answered last was pushed.
    Time answered_push() const noexcept { return answered_push_; }

    /// The connection is lost: calls on_failure for written calls, which Redis may have executed,
    /// and on_unsent for calls pushed ahead, and for calls whose deadline has passed. The others
    /// are queued again, for another connection.
    void fail_lost(Time now) noexcept;
    /// Calls on_failure for written calls, and on_unsent for the others.
    void fail_all() noexcept;

    /// Takes the calls that were written out of this pipeline: another one reads their replies.
    /// Calls that were released and not written are queued again. If it throws std::bad_alloc,
    /// nothing has changed.
    Pipeline split_written();
    /// Calls on_timeout for all calls. Handlers that do not await their replies are dropped, and
    /// the replies are skipped.
    void time_out() noexcept;
    /// Calls on_unsent for the calls that are not released.
    void fail_unreleased() noexcept;
    /// Whether a handler awaits the reply to its call.
    bool has_handlers() const noexcept;

    bool empty() const noexcept { return pending_.empty(); }
    bool has_written() const noexcept { return written_ > 0; }
    bool has_released() const noexcept { return released_ > 0; }
    bool has_unreleased() const noexcept { return released_ < pending_.size(); }

    /// The earliest deadline. The pipeline must not be empty.
    Time first_deadline() const noexcept;
    /// The event loop has stalled: extends each deadline to `timeout` from now, at most once per
    /// call.
    void postpone(Time now) noexcept;

  private:
    struct Pending {
        Call call;
        std::unique_ptr<ReplyHandler> handler;
        std::string token;
        Time pushed;
        Time deadline;
        std::uint64_t end = 0;     ///< the end of the released call in the stream
        bool ahead = false;        ///< pushed ahead: belongs to one connection
        bool in_full = false;      ///< sent with the script's text instead of its digest
        bool out_of_turn = false;  ///< its deadline may not be in the order of the queue
        bool postponed = false;
        bool was_asking_answered = false;  ///< see Call::asking
    };

    void fill(Pending& pending, Call&& call, std::unique_ptr<ReplyHandler>&& handler,
              std::string&& token, Time now) noexcept;
    std::string next_token() { return std::to_string(++last_token_); }
    Pending take_front() noexcept;
    void fail_written() noexcept;
    void repeat_front();

    std::deque<Pending> pending_;
    std::size_t released_ = 0;     ///< number of released calls, at the front of pending_
    std::size_t written_ = 0;      ///< number of written calls, at the front of pending_
    std::size_t out_of_turn_ = 0;  ///< number of calls in pending_ with out_of_turn
    std::uint64_t last_token_;
    std::chrono::milliseconds timeout_;
    Time answered_push_{};
};

}  // namespace tollgate::redis
