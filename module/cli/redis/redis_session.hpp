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
#include "module/cli/redis/tls_connection.hpp"
#include "module/quota/window.hpp"

namespace tollgate::cli {

/// A reply of Redis.
struct RedisReply {
    enum class Kind { kNil, kInteger, kText, kArray, kError };

    Kind kind = Kind::kNil;
    std::int64_t integer = 0;
    std::string text;                  ///< of kText and kError
    std::vector<RedisReply> elements;  ///< of kArray

    bool is_nil() const { return kind == Kind::kNil; }

    /// The texts of the elements.
    std::vector<std::string> texts() const;

    /// The fields of a hash, from a reply to HGETALL. The views point into this reply.
    std::map<std::string_view, std::string_view> fields() const;
};

/// Parses a decimal integer that Redis stores as text. Returns 0 if the text is not an integer.
std::int64_t number_or_zero(std::string_view text);

/// The time in a reply to TIME, in whole milliseconds.
Instant time_of_reply(const RedisReply& time);

/// Escapes the special characters of a glob pattern of Redis (SCAN … MATCH).
std::string escape_glob(std::string_view text);

/// The name and the arguments of a command. They may contain any bytes.
using RedisCommand = std::vector<std::string>;

/// A blocking connection to Redis. All functions throw Failure with ExitStatus::kRedis if the
/// connection fails, if Redis does not reply within 5 seconds, or if the reply is an error.
class RedisSession {
  public:
    /// Reads the password file, connects, authenticates and selects the database. Throws Failure
    /// with ExitStatus::kUsage if the file can't be read.
    explicit RedisSession(RedisUrl url);

    /// Replaces the connection with a new one.
    void reconnect();

    /// Sends one command and waits for the reply.
    RedisReply run(const RedisCommand& command);

    /// Sends one command and waits for the reply. Empty if the reply is an error.
    std::optional<RedisReply> run_if_accepted(const RedisCommand& command);

    /// Sends all commands in one pipeline and waits for all replies. The replies are in the order
    /// of the commands.
    std::vector<RedisReply> run_all(std::span<const RedisCommand> commands);

    /// Runs the commands between MULTI and EXEC. Empty if a watched key has changed.
    std::optional<std::vector<RedisReply>> run_atomically(std::vector<RedisCommand> commands);

  private:
    struct ContextDeleter {
        void operator()(redisContext* context) const { redisFree(context); }
    };

    void log_in();
    void append(const RedisCommand& command);
    RedisReply receive();
    void connect();
    redis::ReplyPtr next_reply();
    [[noreturn]] void fail_connection() const;
    [[noreturn]] void fail_connection(const std::string& reason) const;

    RedisUrl url_;
    std::unique_ptr<redisContext, ContextDeleter> context_;  ///< without TLS
    std::unique_ptr<TlsConnection> tls_;                     ///< with TLS
};

}  // namespace tollgate::cli
