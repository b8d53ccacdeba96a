#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>

#include "module/redis/reply.hpp"

namespace tollgate::redis {

/// Waits for the reply to one command. The pipeline owns it until it has called one of the two,
/// once.
class ReplyHandler {
  public:
    ReplyHandler() = default;
    ReplyHandler(const ReplyHandler&) = delete;
    ReplyHandler& operator=(const ReplyHandler&) = delete;
    virtual ~ReplyHandler() = default;

    /// Redis answered, perhaps with an error. Called from inside the reader: may send further
    /// commands.
    virtual void on_reply(const redisReply& reply) noexcept = 0;

    /// No reply will come: the connection failed, or the command's time ran out.
    virtual void on_failure() noexcept = 0;
};

/// The commands under way on one connection, and which reply is whose. Commands that are released
/// together are closed by a fence: an ECHO of a token. Their replies are believed when the fence's
/// own comes right after them, so that a stream with a reply too many or too few can't hand a
/// request the answer to another.
class Pipeline {
  public:
    using Milliseconds = std::uintptr_t;  ///< of the clock of the connection's owner

    /// `first_token` should be hard to guess: a stray reply must not look like a fence.
    explicit Pipeline(std::uint64_t first_token) : last_token_(first_token) {}

    /// Adds a command, which waits to be released. Throws std::bad_alloc.
    void push(std::span<const std::string> command, std::unique_ptr<ReplyHandler> handler,
              Milliseconds deadline);

    /// Appends to `out` what waits, with a fence behind it; the fence alone where nothing does.
    void release(std::string& out);

    enum class Taken {
        kHeld,       ///< until its fence comes
        kSettled,    ///< it was a fence: the handlers of its commands have their replies
        kMismatched  ///< it belongs to no command: no further reply of this stream can be trusted
    };
    /// Takes the next reply of the stream; `reply` is left as it is where it is mismatched.
    Taken take(ReplyPtr& reply);

    /// Tells the handlers of released commands that no reply will come. Those that wait stay, for
    /// another connection.
    void fail_released();
    /// Tells all handlers.
    void fail_all();

    bool empty() const { return pending_.empty(); }
    bool has_unreleased() const { return unreleased_ > 0; }
    /// Of the command that was pushed first. Not to be asked when empty().
    Milliseconds first_deadline() const { return pending_.front().deadline; }

  private:
    struct Pending {
        std::unique_ptr<ReplyHandler> handler;
        Milliseconds deadline;
        ReplyPtr reply;  ///< held back until its fence is reached
    };

    struct Fence {
        std::size_t commands;  ///< how many commands it closes
        std::string token;
    };

    std::deque<Pending> pending_;
    std::deque<Fence> fences_;
    std::string waiting_;         ///< the commands that are not released, as bytes
    std::size_t unreleased_ = 0;  ///< the last so many of pending_
    std::size_t arrived_ = 0;     ///< the first so many of pending_ have their reply
    std::uint64_t last_token_;
};

}  // namespace tollgate::redis
