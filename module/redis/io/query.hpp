#pragma once

#include <chrono>
#include <cstddef>
#include <string_view>
#include <vector>

#include "module/redis/io/event.hpp"
#include "module/redis/io/link.hpp"
#include "module/redis/protocol/command.hpp"
#include "module/redis/protocol/interface.hpp"
#include "module/redis/protocol/log_text.hpp"
#include "module/redis/protocol/reply.hpp"

namespace tollgate::redis {

/// Receives the result of a query: the reply to each command, or on_no_reply() once instead of the
/// next one. Called from the event loop and never from the constructor of the query. It must not
/// destroy the query.
class QueryOwner : public Interface {
  public:
    /// The reply to the next command, which may be an error reply.
    virtual void on_reply(const redisReply& reply) noexcept = 0;
    /// There is no reply: the server could not be connected to, the connection was lost, or the
    /// time is over. The reason is for the log.
    virtual void on_no_reply(std::string_view reason) noexcept = 0;
};

/// Commands to one server, on a link of its own: a question to a Sentinel, or about the state of a
/// server. The link is closed after the last reply. The timer does not keep a worker alive that
/// shuts down.
class Query : private LinkOwner {
  public:
    /// Starts to connect at once, to the addresses in turn. All replies must arrive within
    /// `timeout`. `access` supplies the user, the password, the database and the limit of each
    /// attempt to connect. What it refers to and `owner` must outlive the query.
    Query(const Access& access, SocketAddresses addresses, std::vector<Words> commands,
          std::chrono::milliseconds timeout, QueryOwner& owner, ReplyLimits limits = {});
    /// Closes the link; no callback follows.
    ~Query() override = default;
    Query(const Query&) = delete;
    Query& operator=(const Query&) = delete;

  private:
    using Clock = std::chrono::steady_clock;

    void on_ready() override;
    void on_written(std::uint64_t /*bytes*/) noexcept override {}
    void on_reply(const redisReply& reply) override;
    void on_lost(std::string_view reason) noexcept override;
    void on_timer() noexcept;
    void report() noexcept;

    const SocketAddresses addresses_;
    const std::vector<Words> commands_;
    std::size_t answered_ = 0;  ///< number of commands
    QueryOwner& owner_;
    Clock::time_point deadline_;
    bool is_over_ = false;  ///< the owner was called, or report() is posted
    LogText reason_;        ///< for report()
    Event timer_;
    Event report_event_;
    Link link_;  ///< last: its constructor and destructor use no other member
};

}  // namespace tollgate::redis
