#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "module/redis/protocol/reply.hpp"
#include "module/redis/protocol/script.hpp"

namespace tollgate::redis {

/// Waits for the reply to one call of a script. One of the three functions is called, once, from
/// inside the reader of replies; they may make further calls. A handler that is destroyed with its
/// pipeline hears nothing: then the worker ends, and what the handler refers to may be gone.
class ReplyHandler {
  public:
    ReplyHandler() = default;
    ReplyHandler(const ReplyHandler&) = delete;
    ReplyHandler& operator=(const ReplyHandler&) = delete;
    virtual ~ReplyHandler() = default;

    /// What the script returned behind the token.
    virtual void on_values(std::span<const redisReply* const> values) noexcept = 0;

    /// Redis answered with an error.
    virtual void on_error(std::string_view message) noexcept = 0;

    /// No reply will come: the connection failed, or the call's time ran out.
    virtual void on_failure() noexcept = 0;
};

/// The calls under way on one connection, and which reply is whose. A script returns the token of
/// its call, so that a stream with a reply too many or too few can't hand one the answer to
/// another.
///
/// A call must be written to the socket within `timeout` after it was pushed, and answered within
/// `timeout` after it was written. All times are read from the clock when they are needed: those of
/// an event loop that stalls would blame Redis for the stall.
class Pipeline {
  public:
    using Clock = std::chrono::steady_clock;
    using Time = Clock::time_point;

    /// `first_token` should be hard to guess: a stray reply must not look like an answer.
    Pipeline(std::uint64_t first_token, std::chrono::milliseconds timeout)
        : last_token_(first_token), timeout_(timeout) {}

    /// Adds a call, which waits to be released. Throws std::bad_alloc: then nothing is added, and
    /// both arguments are as before.
    void push(Call&& call, std::unique_ptr<ReplyHandler>&& handler, Time now);
    /// Adds it ahead of those that wait. Only where none is released.
    void push_ahead(Call&& call, std::unique_ptr<ReplyHandler>&& handler, Time now);

    /// Appends what waits to `out`, whose end is so many bytes behind the start of the stream.
    /// Throws std::bad_alloc: then nothing is appended.
    void release(std::string& out, std::uint64_t position);
    /// So many bytes of the stream are written to the socket.
    void note_written(std::uint64_t bytes, Time now) noexcept;

    enum class Taken : std::uint8_t {
        kValues,     ///< its handler has it
        kError,      ///< its handler has the error
        kRepeated,   ///< Redis doesn't know the script: the call waits again, to go with its text
        kMismatched  ///< it belongs to no call: no further reply of this stream can be trusted
    };
    /// Takes the next reply of the stream. Throws std::bad_alloc: then the call still waits.
    Taken take(const redisReply& reply);

    /// When the call that was answered last was pushed.
    Time answered_push() const noexcept { return answered_push_; }

    /// Tells the handlers of released calls that no reply will come. Those that wait stay, for
    /// another connection.
    void fail_released() noexcept;
    /// Tells all handlers.
    void fail_all() noexcept;

    bool empty() const noexcept { return pending_.empty(); }
    bool has_unreleased() const noexcept { return released_ < pending_.size(); }

    /// The earliest of all. Not to be asked when empty().
    Time first_deadline() const noexcept;
    /// The event loop has stalled: gives each call `timeout` from now, but no call twice.
    void postpone(Time now) noexcept;

  private:
    struct Pending {
        Call call;
        std::unique_ptr<ReplyHandler> handler;
        std::string token;
        Time pushed;
        Time deadline;
        std::uint64_t end = 0;     ///< where it ends in the stream, once it is released
        bool in_full = false;      ///< goes with the script's text in place of its digest
        bool out_of_turn = false;  ///< may be due before those ahead of it, or after those behind
        bool postponed = false;
    };

    void fill(Pending& pending, Call&& call, std::unique_ptr<ReplyHandler>&& handler,
              std::string&& token, Time now) noexcept;
    std::string next_token() { return std::to_string(++last_token_); }
    Pending take_front() noexcept;
    void repeat_front();

    std::deque<Pending> pending_;
    std::size_t released_ = 0;     ///< the first so many of pending_
    std::size_t written_ = 0;      ///< the first so many of those
    std::size_t out_of_turn_ = 0;  ///< so many of pending_
    std::uint64_t last_token_;
    std::chrono::milliseconds timeout_;
    Time answered_push_{};
};

}  // namespace tollgate::redis
