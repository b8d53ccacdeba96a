#pragma once

#include <hiredis/hiredis.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "module/cli/redis/redis_reply.hpp"
#include "module/cli/redis/redis_url.hpp"

namespace tollgate::cli {

/// A command's words: its name and arguments, of any bytes.
using RedisCommand = std::vector<std::string>;

/// One connection to Redis that waits for each answer. Whatever goes wrong, an answer that is an
/// error included, is thrown as Failure with ExitStatus::kRedis.
class RedisSession {
  public:
    /// Connects, logs in and selects the database.
    explicit RedisSession(RedisUrl url);

    /// Makes a new connection in place of one that was lost.
    void reconnect();

    /// Sends one command and waits for its answer.
    RedisReply run(const RedisCommand& command);

    /// The same for a command that Redis may refuse: nothing when it replies with an error.
    std::optional<RedisReply> run_if_accepted(const RedisCommand& command);

    /// Sends all commands in one go and waits for all answers, which are in the same order.
    std::vector<RedisReply> run_all(std::span<const RedisCommand> commands);

    /// Runs the commands between MULTI and EXEC. Nothing when a key that was watched has changed.
    std::optional<std::vector<RedisReply>> run_atomically(std::vector<RedisCommand> commands);

  private:
    struct ContextDeleter {
        void operator()(redisContext* context) const { redisFree(context); }
    };

    void log_in();
    void append(const RedisCommand& command);
    RedisReply receive();
    [[noreturn]] void fail_connection() const;

    RedisUrl url_;
    std::unique_ptr<redisContext, ContextDeleter> context_;
};

}  // namespace tollgate::cli
