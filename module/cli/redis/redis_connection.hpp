#pragma once

#include <curl/curl.h>
#include <hiredis/hiredis.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>

#include "module/cli/failure.hpp"
#include "module/cli/redis/redis_url.hpp"
#include "module/redis/protocol/command.hpp"
#include "module/redis/protocol/reply.hpp"
#include "module/redis/protocol/value.hpp"

namespace tollgate::cli {

/// A server refuses the user or the password.
class LoginRefused : public Failure {
  public:
    using Failure::Failure;
};

/// Where a server listens, and what it is called in messages.
struct NamedServer {
    redis::ServerAddress address;   ///< not used if `path` is set
    std::string path = {};          ///< of a unix socket
    std::string service = "Redis";  ///< or `Sentinel`

    /// The address, for messages.
    std::string text() const;
};

/// Throws Failure with ExitStatus::kRedis if the reply, or an element of it, is an error.
void require_success(const redis::Value& reply);

/// A blocking connection to one server. libcurl connects and verifies a server with TLS, hiredis
/// parses the replies: hiredis 0.14 has no TLS. All functions throw Failure with ExitStatus::kRedis
/// if the connection fails or the server does not answer in time. Error replies are not failures,
/// except where a function says so.
class RedisConnection {
  public:
    /// The time for a connection, and for each reply. A busy server answers in this time. A command
    /// for a dead server ends soon enough.
    static constexpr std::chrono::milliseconds kTimeout{5000};

    /// Connects and authenticates. Throws LoginRefused.
    RedisConnection(NamedServer server, const Login& login, const TlsOptions& tls,
                    std::chrono::milliseconds timeout = kTimeout);

    /// Appends a command to the pipeline. receive() sends it.
    void append(const redis::Command& command);
    void append(const redis::Words& words) { redis::append_command(out_, words); }
    /// The next reply of the pipeline.
    redis::ReplyPtr receive();

    /// Sends one command and waits for the reply.
    redis::Value ask(const redis::Command& command);

    /// Selects a database. Throws Failure if the server refuses it.
    void select(std::uint32_t database);

    const NamedServer& server() const { return server_; }

  private:
    struct Deleter {
        void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
        void operator()(curl_slist* list) const { curl_slist_free_all(list); }
        void operator()(redisReader* reader) const { redisReaderFree(reader); }
    };

    template <typename Value>
    void set(CURLoption option, Value value);
    void set_address(const TlsOptions& tls);
    void set_tls(const TlsOptions& tls);
    void log_in(const Login& login);
    void send();
    void read();
    void wait(short events);
    [[noreturn]] void fail(CURLcode code) const;
    [[noreturn]] void fail(std::string reason) const;

    NamedServer server_;
    std::chrono::milliseconds timeout_;
    std::array<char, CURL_ERROR_SIZE> error_{};
    std::unique_ptr<curl_slist, Deleter> connect_to_;
    std::unique_ptr<CURL, Deleter> curl_;
    std::unique_ptr<redisReader, Deleter> reader_;
    std::string out_;
    bool lacks_certificate_ = false;  ///< the server may still refuse a client without one
};

}  // namespace tollgate::cli
