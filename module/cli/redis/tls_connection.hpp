#pragma once

#include <curl/curl.h>
#include <hiredis/hiredis.h>

#include <array>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "module/cli/redis/redis_url.hpp"
#include "module/redis/protocol/reply.hpp"

namespace tollgate::cli {

/// A blocking connection to Redis over TLS. libcurl connects and verifies the server, hiredis
/// parses the replies: hiredis 0.14 has no TLS. All functions throw std::runtime_error with the
/// reason if the connection fails, or if the server does not answer in time.
class TlsConnection {
  public:
    /// Connects, completes the handshake and verifies the server. `timeout` is for this, and for
    /// each later wait.
    TlsConnection(const redis::ServerAddress& server, const TlsOptions& tls,
                  std::chrono::milliseconds timeout);

    /// Appends an encoded command. receive() sends it.
    void append(std::string_view command) { out_ += command; }

    /// Changes the timeout of later waits.
    void set_timeout(std::chrono::milliseconds timeout) { timeout_ = timeout; }

    /// Sends what was appended, and waits for the next reply.
    redis::ReplyPtr receive();

  private:
    struct Deleter {
        void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
        void operator()(curl_slist* list) const { curl_slist_free_all(list); }
        void operator()(redisReader* reader) const { redisReaderFree(reader); }
    };

    template <typename Value>
    void set(CURLoption option, Value value);
    void set_address(const redis::ServerAddress& server, const std::string& name);
    void set_tls(const TlsOptions& tls);
    void send();
    void read();
    void wait(short events);
    [[noreturn]] void fail(CURLcode code) const;
    [[noreturn]] void fail(std::string reason) const;

    std::array<char, CURL_ERROR_SIZE> error_{};
    std::unique_ptr<curl_slist, Deleter> connect_to_;
    std::unique_ptr<CURL, Deleter> curl_;
    std::unique_ptr<redisReader, Deleter> reader_;
    std::string out_;
    std::chrono::milliseconds timeout_;
    bool lacks_certificate_ = false;  ///< the server may still refuse a client without one
};

}  // namespace tollgate::cli
