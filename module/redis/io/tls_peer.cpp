#include "module/redis/io/tls_peer.hpp"

#include <stdexcept>
#include <utility>

#if (NGX_SSL)

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <memory>
#include <vector>

namespace tollgate::redis {

namespace {

/// For nginx's structure of a TLS connection.
constexpr std::size_t kPoolSize = 1024;

struct FreeSession {
    void operator()(SSL_SESSION* session) const noexcept { SSL_SESSION_free(session); }
};
using Session = std::unique_ptr<SSL_SESSION, FreeSession>;

}  // namespace

void TlsPeer::begin(ngx_connection_t* connection, CapturedLog& log,
                    void (*save)(ngx_connection_t*)) {
    connection->pool = ngx_create_pool(kPoolSize, connection->log);
    if (connection->pool == nullptr) {
        throw std::bad_alloc();
    }
    if (ngx_ssl_create_connection(context_.get(), connection, NGX_SSL_CLIENT) != NGX_OK) {
        throw std::runtime_error(std::string(log.take("TLS can't begin")));
    }
    SSL* ssl = connection->ssl->connection;
    // The output buffer grows, and so moves, between two attempts to write.
    SSL_set_mode(ssl, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    if (!context_.sni().empty() &&
        SSL_set_tlsext_host_name(ssl, const_cast<char*>(context_.sni().c_str())) != 1) {
        ERR_clear_error();
        throw std::runtime_error("\"" + context_.sni() + "\" is not a name for TLS");
    }
    connection->ssl->save_session = save;
    resume(connection);
}

/// Offers the stored session to the server. A session that can't be used costs a full handshake.
void TlsPeer::resume(ngx_connection_t* connection) {
    const std::string stored = resumes_ ? listener_.stored_session() : std::string();
    if (stored.empty()) {
        return;
    }
    const auto* bytes = reinterpret_cast<const unsigned char*>(stored.data());
    const Session session(d2i_SSL_SESSION(nullptr, &bytes, static_cast<long>(stored.size())));
    offered_ =
        session != nullptr && SSL_set_session(connection->ssl->connection, session.get()) == 1;
    ERR_clear_error();
}

bool TlsPeer::handshake(ngx_connection_t* connection, CapturedLog& log) {
    // nginx replaces the handlers, but its own do not see that a worker shuts down.
    const auto on_read = connection->read->handler;
    const auto on_write = connection->write->handler;
    const ngx_int_t rc = ngx_ssl_handshake(connection);
    connection->read->handler = on_read;
    connection->write->handler = on_write;
    if (rc == NGX_AGAIN) {
        return false;
    }
    if (rc != NGX_OK) {
        throw std::runtime_error(failed_handshake(connection, log));
    }
    offered_ = false;
    listener_.on_handshake(SSL_session_reused(connection->ssl->connection) == 1);
    return true;
}

std::string TlsPeer::failed_handshake(const ngx_connection_t* connection, CapturedLog& log) {
    SSL* ssl = connection->ssl->connection;
    std::string reason(log.take("no reason is known"));
    listener_.store_session({});
    // A Redis with "tls-session-caching no" sends sessions, but ends handshakes that resume them.
    if (std::exchange(offered_, false) && reason.find(" alert ") != reason.npos) {
        resumes_ = false;
    }
    const std::string server = "the certificate of the server ";
    const long result = SSL_get_verify_result(ssl);
    if (SSL_get_verify_mode(ssl) == SSL_VERIFY_NONE || result == X509_V_OK) {
        return "the TLS handshake failed: " + reason;
    }
    if (result == X509_V_ERR_HOSTNAME_MISMATCH || result == X509_V_ERR_IP_ADDRESS_MISMATCH) {
        return server + "is not for \"" + context_.server_name() + "\"";
    }
    return server + "is not accepted: " + X509_verify_cert_error_string(result);
}

void TlsPeer::keep_session(ngx_connection_t* connection) noexcept {
    const Session session(ngx_ssl_get_session(connection));
    const int size = i2d_SSL_SESSION(session.get(), nullptr);
    if (size <= 0) {
        return;
    }
    try {
        std::string bytes(static_cast<std::size_t>(size), '\0');
        auto* end = reinterpret_cast<unsigned char*>(bytes.data());
        i2d_SSL_SESSION(session.get(), &end);
        listener_.store_session(bytes);
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): a full handshake follows
    }
}

void TlsPeer::close(ngx_connection_t* connection) noexcept {
    if (connection->ssl != nullptr) {
        // Sends "close notify" if the socket takes it.
        connection->ssl->no_wait_shutdown = 1;
        if (ngx_ssl_shutdown(connection) == NGX_AGAIN) {
            connection->error = 1;
            ngx_ssl_shutdown(connection);
        }
    }
    ngx_pool_t* pool = std::exchange(connection->pool, nullptr);
    ngx_close_connection(connection);
    if (pool != nullptr) {
        ngx_destroy_pool(pool);
    }
}

}  // namespace tollgate::redis

#else

namespace tollgate::redis {

// There is no TlsContext, and so no TlsPeer, in an nginx without SSL.

void TlsPeer::begin(ngx_connection_t* /*connection*/, CapturedLog& /*log*/,
                    void (* /*save*/)(ngx_connection_t*)) {
    throw std::runtime_error("no TLS");
}

bool TlsPeer::handshake(ngx_connection_t* /*connection*/, CapturedLog& /*log*/) {
    return false;
}

void TlsPeer::keep_session(ngx_connection_t* /*connection*/) noexcept {}

void TlsPeer::close(ngx_connection_t* connection) noexcept {
    ngx_close_connection(connection);
}

}  // namespace tollgate::redis

#endif
