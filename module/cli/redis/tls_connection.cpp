#include "module/cli/redis/tls_connection.hpp"

#include <poll.h>

#include <cerrno>
#include <new>
#include <system_error>

namespace tollgate::cli {

TlsConnection::TlsConnection(const redis::ServerAddress& server, const TlsOptions& tls,
                             std::chrono::milliseconds timeout)
    : curl_(curl_easy_init()), reader_(redisReaderCreate()), timeout_(timeout) {
    if (!curl_ || !reader_) {
        throw std::bad_alloc();
    }
    set(CURLOPT_ERRORBUFFER, error_.data());
    set_address(server, tls.server_name.empty() ? server.host : tls.server_name);
    set_tls(tls);
    if (const auto code = curl_easy_perform(curl_.get()); code != CURLE_OK) {
        fail(code);
    }
    error_.front() = '\0';  // libcurl describes some errors that it ignores
    // With TLS 1.3, the server reads the certificate of a client after the client's handshake.
    lacks_certificate_ = tls.certificate.empty();
}

template <typename Value>
void TlsConnection::set(CURLoption option, Value value) {
    if (curl_easy_setopt(curl_.get(), option, value) != CURLE_OK) {
        throw std::runtime_error("libcurl does not support a required option: install a newer one");
    }
}

/// libcurl verifies `name`, the host of the URL, and connects to another one.
void TlsConnection::set_address(const redis::ServerAddress& server, const std::string& name) {
    const auto url = "https://" + to_text(redis::ServerAddress{name, server.port});
    set(CURLOPT_URL, url.c_str());
    const auto target = "::" + to_text(server);
    connect_to_.reset(curl_slist_append(nullptr, target.c_str()));
    set(CURLOPT_CONNECT_TO, connect_to_.get());
    set(CURLOPT_CONNECT_ONLY, 1L);
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(timeout_.count()));
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_NOPROXY, "*");  // A proxy for HTTP does not lead to Redis.
}

void TlsConnection::set_tls(const TlsOptions& tls) {
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

redis::ReplyPtr TlsConnection::receive() {
    send();
    while (true) {
        void* reply = nullptr;
        if (redisReaderGetReply(reader_.get(), &reply) != REDIS_OK) {
            throw std::runtime_error(reader_->errstr);
        }
        if (reply != nullptr) {
            lacks_certificate_ = false;
            return redis::ReplyPtr(static_cast<redisReply*>(reply));
        }
        read();
    }
}

void TlsConnection::send() {
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

void TlsConnection::read() {
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
        throw std::runtime_error(reader_->errstr);
    }
}

void TlsConnection::wait(short events) {
    curl_socket_t socket = CURL_SOCKET_BAD;
    curl_easy_getinfo(curl_.get(), CURLINFO_ACTIVESOCKET, &socket);
    pollfd polled{socket, events, 0};
    const int rc = ::poll(&polled, 1, static_cast<int>(timeout_.count()));
    if (rc == 0) {
        throw std::runtime_error("no reply in time");
    }
    if (rc < 0 && errno != EINTR) {
        throw std::runtime_error(std::generic_category().message(errno));
    }
}

void TlsConnection::fail(CURLcode code) const {
    fail(error_.front() != '\0' ? error_.data() : curl_easy_strerror(code));
}

void TlsConnection::fail(std::string reason) const {
    if (lacks_certificate_) {
        reason += " (does it require a client certificate? Set tls_cert and tls_key)";
    }
    throw std::runtime_error(reason);
}

}  // namespace tollgate::cli
