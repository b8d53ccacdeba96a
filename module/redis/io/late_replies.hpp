#pragma once

#include <memory>
#include <string_view>

#include "module/redis/io/link.hpp"
#include "module/redis/protocol/pipeline.hpp"

namespace tollgate::redis {

/// A link whose calls have timed out. Redis may still execute those whose own deadlines have not
/// passed, for example after a pause. Their replies are read here, while the connection uses
/// another link. No call is made here.
class LateReplies : private LinkOwner {
  public:
    using Time = Pipeline::Time;

    LateReplies() = default;
    /// Closes the link. The handlers of pending calls are destroyed; no callback follows.
    ~LateReplies() override = default;
    LateReplies(const LateReplies&) = delete;
    LateReplies& operator=(const LateReplies&) = delete;

    /// Takes a link that is ready, and the calls that were written to it. Their replies are awaited
    /// until `end`.
    void take(std::unique_ptr<Link> link, Pipeline calls, Time end) noexcept;
    /// Tells the handlers that the calls have timed out. See ReplyHandler::on_timeout.
    void time_out() noexcept { calls_.time_out(); }

    Time end() const noexcept { return end_; }
    /// Whether no reply is awaited any more.
    bool is_over(Time now) const noexcept { return end_ <= now || !calls_.has_handlers(); }
    /// Fails the calls that were not answered.
    void fail() noexcept { calls_.fail_all(); }

  private:
    void on_ready() override {}
    void on_written(std::uint64_t /*bytes*/) noexcept override {}
    void on_reply(const redisReply& reply) override;
    void on_lost(std::string_view reason) noexcept override;

    std::unique_ptr<Link> link_;
    Pipeline calls_{0, {}};
    Time end_{};
};

}  // namespace tollgate::redis
