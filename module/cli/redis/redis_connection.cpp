#include "module/cli/redis/redis_connection.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <system_error>
#include <utility>

namespace tollgate::cli {

std::string NamedServer::text() const {
    return path.empty() ? to_text(address) : "unix:" + path;
}

void require_success(const redis::Value& reply) {
    if (reply.is_error()) {
        // With the URL of a cluster, such commands are sent to the master of their slot.
        const bool is_of_cluster =
            reply.text.starts_with("MOVED ") || reply.text.starts_with("CROSSSLOT ");
        throw Failure(ExitStatus::kRedis,
                      "Redis replies with an error: " + reply.text +
                          (is_of_cluster ? ": use redis+cluster:// for a cluster" : ""));
    }
    std::ranges::for_each(reply.elements, require_success);
}

RedisConnection::RedisConnection(NamedServer server, const Login& login, const TlsOptions& tls,
                                 std::chrono::milliseconds timeout)
    : server_(std::move(server)),
      timeout_(timeout),
      curl_(curl_easy_init()),
      reader_(redisReaderCreate()) {
    if (!curl_ || !reader_) {
        throw std::bad_alloc();
    }
    set(CURLOPT_ERRORBUFFER, error_.data());
    set_address(tls);
    if (tls.on) {
        set_tls(tls);
    }
    if (const auto code = curl_easy_perform(curl_.get()); code != CURLE_OK) {
        fail(code);
    }
    error_.front() = '\0';  // libcurl describes some errors that it ignores
    // With TLS 1.3, the server reads the certificate of a client after the client's handshake.
    lacks_certificate_ = tls.on && tls.certificate.empty();
    log_in(login);
}

template <typename Value>
void RedisConnection::set(CURLoption option, Value value) {
    if (curl_easy_setopt(curl_.get(), option, value) != CURLE_OK) {
        fail("libcurl does not support a required option: install a newer one");
    }
}

/// libcurl verifies the host of the URL, and connects to another one.
void RedisConnection::set_address(const TlsOptions& tls) {
    const auto& server = server_.address;
    auto named = server_.path.empty() ? server : redis::ServerAddress{"localhost", 1};
    if (!tls.server_name.empty()) {
        named.host = tls.server_name;
    }
    set(CURLOPT_URL, ((tls.on ? "https://" : "http://") + to_text(named)).c_str());
    if (server_.path.empty()) {
        connect_to_.reset(curl_slist_append(nullptr, ("::" + to_text(server)).c_str()));
        set(CURLOPT_CONNECT_TO, connect_to_.get());
    } else {
        set(CURLOPT_UNIX_SOCKET_PATH, server_.path.c_str());
    }
    set(CURLOPT_CONNECT_ONLY, 1L);
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(timeout_.count()));
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_NOPROXY, "*");  // A proxy for HTTP does not lead to Redis.
}

void RedisConnection::set_tls(const TlsOptions& tls) {
    set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    set(CURLOPT_SSL_ENABLE_ALPN, 0L);
    set(CURLOPT_SSL_VERIFYPEER, tls.verify ? 1L : 0L);
    set(CURLOPT_SSL_VERIFYHOST, tls.verify ? 2L : 0L);
    if (!tls.ca.empty()) {
        set(CURLOPT_CAINFO, tls.ca.c_str());
        // Otherwise the CA certificates of the system are accepted, too.
        set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));
    }
    if (!tls.certificate.empty()) {
        set(CURLOPT_SSLCERT, tls.certificate.c_str());
        set(CURLOPT_SSLKEY, tls.key.c_str());
    }
}

void RedisConnection::log_in(const Login& login) {
    if (login.password.empty()) {
        return;
    }
    const auto reply = ask(login.user.empty() ? redis::Command{"AUTH", login.password}
                                              : redis::Command{"AUTH", login.user, login.password});
    if (reply.is_error()) {
        // Print only the error code: some of these messages contain the arguments of the command.
        const auto code = reply.text.substr(0, reply.text.find(' '));
        // The general error comes from a server where `default` has no password, or without users.
        const std::string hint = code == "ERR" ? ": it may not require a password" : "";
        throw LoginRefused(ExitStatus::kRedis, server_.service + " at " + server_.text() +
                                                   " refuses the user or password (" + code + ")" +
                                                   hint);
    }
}

void RedisConnection::append(const redis::Command& command) {
    redis::Words words;
    for (const auto& word : command) {
        words.add(word);
    }
    append(words);
}

redis::ReplyPtr RedisConnection::receive() {
    send();
    while (true) {
        void* reply = nullptr;
        if (redisReaderGetReply(reader_.get(), &reply) != REDIS_OK) {
            fail(reader_->errstr);
        }
        if (reply != nullptr) {
            lacks_certificate_ = false;
            return redis::ReplyPtr(static_cast<redisReply*>(reply));
        }
        read();
    }
}

void RedisConnection::send() {
    std::size_t written = 0;
    while (written < out_.size()) {
        std::size_t n = 0;
        const auto code =
            curl_easy_send(curl_.get(), out_.data() + written, out_.size() - written, &n);
        if (code == CURLE_AGAIN) {
            wait(POLLOUT);
        } else if (code != CURLE_OK) {
            fail(code);
        }
        written += n;
    }
    out_.clear();
}

void RedisConnection::read() {
    std::array<char, 16384> buffer;
    std::size_t n = 0;
    auto code = curl_easy_recv(curl_.get(), buffer.data(), buffer.size(), &n);
    while (code == CURLE_AGAIN) {
        wait(POLLIN);
        code = curl_easy_recv(curl_.get(), buffer.data(), buffer.size(), &n);
    }
    if (code != CURLE_OK) {
        fail(code);
    }
    if (n == 0) {
        fail("Server closed the connection");
    }
    if (redisReaderFeed(reader_.get(), buffer.data(), n) != REDIS_OK) {
        fail(reader_->errstr);
    }
}

void RedisConnection::wait(short events) {
    curl_socket_t socket = CURL_SOCKET_BAD;
    curl_easy_getinfo(curl_.get(), CURLINFO_ACTIVESOCKET, &socket);
    pollfd polled{socket, events, 0};
    const int rc = ::poll(&polled, 1, static_cast<int>(timeout_.count()));
    if (rc == 0) {
        fail("no reply in time");
    }
    if (rc < 0 && errno != EINTR) {
        fail(std::generic_category().message(errno));
    }
}

redis::Value RedisConnection::ask(const redis::Command& command) {
    append(command);
    return redis::copy_of(*receive());
}

void RedisConnection::select(std::uint32_t database) {
    if (database != 0) {
        require_success(ask({"SELECT", std::to_string(database)}));
    }
}

void RedisConnection::fail(CURLcode code) const {
    long error = 0;
    curl_easy_getinfo(curl_.get(), CURLINFO_OS_ERRNO, &error);
    if (code == CURLE_COULDNT_CONNECT && error != 0) {
        fail(std::generic_category().message(static_cast<int>(error)));
    }
    fail(error_.front() != '\0' ? error_.data() : curl_easy_strerror(code));
}

void RedisConnection::fail(std::string reason) const {
    if (lacks_certificate_) {
        reason += " (does it require a client certificate? Set tls_cert and tls_key)";
    }
    throw Failure(ExitStatus::kRedis,
                  "no connection to " + server_.service + " at " + server_.text() + ": " + reason);
}

}  // namespace tollgate::cli
