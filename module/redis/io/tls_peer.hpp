#pragma once

extern "C" {
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>
}

#include <string>
#include <string_view>

#include "module/redis/io/captured_log.hpp"
#include "module/redis/io/tls_context.hpp"
#include "module/redis/protocol/interface.hpp"

namespace tollgate::redis {

/// Receives the events of TLS connections, and stores their session. This one does neither.
class TlsListener : public Interface {
  public:
    /// A handshake has succeeded.
    virtual void on_handshake(bool /*is_resumed*/) noexcept {}
    /// The session for the next connection, as DER. Empty: the stored session was refused.
    virtual void store_session(std::string_view /*session*/) noexcept {}
    /// The session that was stored last, by any worker; empty if there is none.
    virtual std::string stored_session() { return {}; }
};

/// A Redis that is reached over TLS, as a worker sees it. Functions that fail throw
/// std::runtime_error with the reason. A connection that was begun must be closed with close().
class TlsPeer {
  public:
    /// Both must outlive the peer.
    TlsPeer(const TlsContext& context, TlsListener& listener)
        : context_(context), listener_(listener) {}

    /// Prepares a connected socket for the handshake. `log` is the connection's log. `save` is
    /// called with the connection for each session that the server sends, and calls
    /// keep_session().
    void begin(ngx_connection_t* connection, CapturedLog& log, void (*save)(ngx_connection_t*));

    /// Continues the handshake as far as the socket allows, and returns whether it is complete: the
    /// server is then verified, unless `tls_verify` is off. Otherwise the handler of the next event
    /// calls it again.
    bool handshake(ngx_connection_t* connection, CapturedLog& log);

    void keep_session(ngx_connection_t* connection) noexcept;

    /// Closes a connection, without waiting for the server. Also for a connection that was not
    /// begun.
    static void close(ngx_connection_t* connection) noexcept;

  private:
    std::string failed_handshake(const ngx_connection_t* connection, CapturedLog& log);
    void resume(ngx_connection_t* connection);

    const TlsContext& context_;
    TlsListener& listener_;
    bool offered_ = false;  ///< a session, since the last handshake
    bool resumes_ = true;   ///< until the server refuses a handshake because of a session
};

}  // namespace tollgate::redis
