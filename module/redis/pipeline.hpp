#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "module/redis/reply.hpp"
#include "module/redis/script.hpp"

namespace tollgate::redis {

/// Waits for the reply to one call of a script. The pipeline owns it until it has called one of the
/// three, once, from inside the reader: they may make further calls.
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
class Pipeline {
  public:
    using Milliseconds = std::uintptr_t;  ///< of the clock of the connection's owner
    using Clock = std::chrono::steady_clock;

    /// `first_token` should be hard to guess: a stray reply must not look like an answer.
    explicit Pipeline(std::uint64_t first_token) : last_token_(first_token) {}

    /// Adds a call, which waits to be released. Throws std::bad_alloc.
    void push(Call call, std::unique_ptr<ReplyHandler> handler, Milliseconds deadline);
    /// Adds it ahead of those that wait. Only where none is released.
    void push_ahead(Call call, std::unique_ptr<ReplyHandler> handler, Milliseconds deadline);

    /// Appends to `out` what waits. Throws std::bad_alloc.
    void release(std::string& out);

    enum class Taken : std::uint8_t {
        kValues,     ///< its handler has it
        kError,      ///< its handler has the error
        kRepeated,   ///< Redis doesn't know the script: the call waits again, to go with its text
        kMismatched  ///< it belongs to no call: no further reply of this stream can be trusted
    };
    /// Takes the next reply of the stream.
    Taken take(const redisReply& reply);

    /// When the call that was answered last was pushed.
    Clock::time_point answered_push() const { return answered_push_; }

    /// Tells the handlers of released calls that no reply will come. Those that wait stay, for
    /// another connection.
    void fail_released();
    /// Tells all handlers.
    void fail_all();

    bool empty() const { return pending_.empty(); }
    bool has_unreleased() const { return released_ < pending_.size(); }
    /// The earliest of all. Not to be asked when empty().
    Milliseconds first_deadline() const;

  private:
    struct Pending {
        Call call;
        std::unique_ptr<ReplyHandler> handler;
        Milliseconds deadline;
        Clock::time_point pushed;
        std::string token;
        bool in_full = false;  ///< goes with the script's text in place of its digest
    };

    Pending make(Call call, std::unique_ptr<ReplyHandler> handler, Milliseconds deadline);
    Pending take_front();
    void repeat_front();

    std::deque<Pending> pending_;
    std::size_t released_ = 0;  ///< the first so many of pending_
    std::size_t in_full_ = 0;  ///< so many of pending_, which may be due before those ahead of them
    std::uint64_t last_token_;
    Clock::time_point answered_push_{};
};

}  // namespace tollgate::redis
