#pragma once

#include <hiredis/hiredis.h>

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "module/cli/failure.hpp"
#include "module/cli/redis/redis_reply.hpp"
#include "module/cli/redis/redis_url.hpp"
#include "module/cli/redis/tls_connection.hpp"
#include "module/redis/protocol/command.hpp"
#include "module/redis/protocol/reply.hpp"

namespace tollgate::cli {

/// A server refuses the user or the password.
class LoginRefused : public Failure {
  public:
    using Failure::Failure;
};

/// Where a server listens, and what it is called in messages.
struct Endpoint {
    redis::ServerAddress address;   ///< not used if `path` is set
    std::string path = {};          ///< of a unix socket
    std::string service = "Redis";  ///< or `Sentinel`

    /// The address, for messages.
    std::string text() const;
};

/// A blocking connection to one server. All functions throw Failure with ExitStatus::kRedis if the
/// connection fails or the server does not answer in time. Error replies are not failures, except
/// where a function says so.
class RedisConnection {
  public:
    /// The time for a connection, and for each reply. A busy server answers in this time. A command
    /// for a dead server ends soon enough.
    static constexpr std::chrono::milliseconds kTimeout{5000};

    /// Connects and authenticates. Throws LoginRefused.
    RedisConnection(Endpoint endpoint, const Login& login, const TlsOptions& tls,
                    std::chrono::milliseconds timeout = kTimeout);

    /// Appends a command to the pipeline. receive() sends it.
    void append(const redis::Command& command);
    void append(const redis::Words& words);
    /// The next reply of the pipeline.
    redis::ReplyPtr receive();

    /// Sends one command and waits for the reply.
    redis::Value ask(const redis::Command& command);
    /// Sends all commands in one pipeline. The replies are in the order of the commands.
    std::vector<redis::Value> ask_all(std::span<const redis::Command> commands);

    /// Selects a database. Throws Failure if the server refuses it.
    void select(std::uint32_t database);

    const Endpoint& endpoint() const { return endpoint_; }

  private:
    struct ContextDeleter {
        void operator()(redisContext* context) const { redisFree(context); }
    };

    void connect(const TlsOptions& tls, std::chrono::milliseconds timeout);
    void log_in(const Login& login);
    [[noreturn]] void fail_connection() const;
    [[noreturn]] void fail_connection(const std::string& reason) const;

    Endpoint endpoint_;
    std::unique_ptr<redisContext, ContextDeleter> context_;  ///< without TLS
    std::unique_ptr<TlsConnection> tls_;                     ///< with TLS
};

}  // namespace tollgate::cli
