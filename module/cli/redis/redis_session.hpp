#pragma once

#include <hiredis/hiredis.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "module/cli/redis/redis_url.hpp"
#include "module/quota/window.hpp"

namespace tollgate::cli {

/// What Redis answered.
struct RedisReply {
    enum class Kind { kNil, kInteger, kText, kArray, kError };

    Kind kind = Kind::kNil;
    std::int64_t integer = 0;
    std::string text;  ///< of an error too
    std::vector<RedisReply> elements;

    bool is_nil() const { return kind == Kind::kNil; }

    /// The elements' texts.
    std::vector<std::string> texts() const;

    /// The elements as HGETALL answers them: names and values by turns. Views of this reply.
    std::map<std::string_view, std::string_view> fields() const;
};

/// Reads a whole number that stands in Redis as text; 0 for anything else.
std::int64_t number_or_zero(std::string_view text);

/// What Redis's clock says, as TIME answers it.
Instant time_of_reply(const RedisReply& time);

/// A text that stands for itself in a glob pattern of Redis.
std::string escape_glob(std::string_view text);

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
