// Establishes a link: tries the addresses of the server in turn, then completes the TLS handshake
// and sends AUTH and SELECT.

#include <poll.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "module/redis/io/link.hpp"

namespace tollgate::redis {

void Link::connect() noexcept {
    const auto& all = addresses_;
    untried_ = all.size();
    failures_ = {};
    if (all.empty()) {
        failures_.append("no address is known");
    } else if (!address_ || std::ranges::find(all, *address_) == all.end()) {
        address_ = all.front();
    }
    try_addresses();
}

void Link::connect_anew() noexcept {
    close_socket();
    connect();
}

/// Tries the next address until a connection is in progress. A loop, because a socket may fail
/// immediately.
void Link::try_addresses() noexcept {
    trying_ = true;
    while (is_down() && untried_ > 0) {
        --untried_;
        call<&Link::open_socket>();
    }
    trying_ = false;
    if (is_down()) {
        const LogText copy = failures_;  // The owner may connect again.
        owner_->on_lost(copy);
    } else if (is_connected()) {
        call<&Link::finish_connecting>();
    }
}

void Link::open_socket() {
    address_name_ = {address_->name().size(),
                     reinterpret_cast<u_char*>(const_cast<char*>(address_->name().data()))};
    peer_ = {};
    peer_.sockaddr = const_cast<sockaddr*>(address_->get());
    peer_.socklen = address_->length();
    peer_.name = &address_name_;
    peer_.get = ngx_event_get_peer;
    peer_.log = &quiet_log_;
    peer_.log_error = NGX_ERROR_ERR;
    peer_.so_keepalive = address_->is_unix() ? 0 : 1;

    const ngx_int_t rc = ngx_event_connect_peer(&peer_);
    if (rc != NGX_OK && rc != NGX_AGAIN) {
        const ngx_err_t error = ngx_socket_errno;
        peer_.connection = nullptr;
        lose(failed_connect(error));
        return;
    }
    ngx_connection_t* connection = peer_.connection;
    connection->data = this;
    socket_log_.take({});
    connection->log = socket_log_.get();
    connection->read->log = access_.log;
    connection->write->log = access_.log;
    connection->read->handler = handle<&Link::on_readable>;
    connection->write->handler = handle<&Link::on_writable>;
    ngx_tcp_nodelay(connection);  // Commands must not wait for earlier replies.
    reader_ = std::make_unique<ReplyReader>(limits_);
    state_ = State::kConnecting;
    deadline_ = Clock::now() + access_.conf.connect_timeout;
    timeout_.start_until(deadline_);
}

/// Whether the socket is connected, or connect() has failed.
bool Link::is_connected() const noexcept {
    pollfd socket{peer_.connection->fd, POLLOUT, 0};
    return ::poll(&socket, 1, 0) == 1;
}

/// Continues with the socket or with TLS, if they are not complete.
void Link::establish() {
    if (state_ == State::kConnecting) {
        finish_connecting();
    } else if (state_ == State::kHandshaking) {
        handshake();
    }
}

/// Checks whether connect() succeeded, as ngx_http_upstream_test_connect does, and continues.
void Link::finish_connecting() {
    int error = 0;
    socklen_t length = sizeof(error);
    if (getsockopt(peer_.connection->fd, SOL_SOCKET, SO_ERROR, &error, &length) == -1) {
        error = ngx_socket_errno;
    }
    if (error != 0) {
        lose(failed_connect(error));
    } else if (access_.tls == nullptr) {
        greet();
    } else {
        access_.tls->begin(peer_.connection, socket_log_,
                           [](ngx_connection_t* connection) noexcept {
                               const auto* link = static_cast<Link*>(connection->data);
                               link->access_.tls->keep_session(connection);
                           });
        state_ = State::kHandshaking;
        handshake();
    }
}

/// AUTH is not sent before the server is verified.
void Link::handshake() {
    if (access_.tls->handshake(peer_.connection, socket_log_)) {
        greet();
        read();  // OpenSSL may have read more than the handshake: there is no event for that.
    }
}

std::string Link::failed_connect(ngx_err_t error) const {
    std::array<u_char, NGX_MAX_ERROR_STR> text{};
    const u_char* end =
        ngx_snprintf(text.data(), text.size(), "connect() to %V failed", peer_.name);
    end = ngx_log_errno(text.data() + (end - text.data()), text.data() + text.size(), error);
    return {reinterpret_cast<const char*>(text.data()),
            static_cast<std::size_t>(end - text.data())};
}

void Link::greet() {
    state_ = State::kGreeting;
    greeting_.begin(access_.conf.username, access_.conf.password, access_.conf.database, out_);
    if (greeting_.done()) {
        become_ready();
    } else {
        flush_soon();
    }
}

void Link::become_ready() {
    state_ = State::kReady;
    timeout_.cancel();
    owner_->on_ready();
}

void Link::take_greeting(const redisReply& reply) {
    if (!greeting_.take(reply)) {
        // A server without AUTH may repeat its arguments: ", with args beginning with: …".
        const auto words = text_of(reply);
        give_up(words.substr(0, words.find(',')));
    } else if (greeting_.done()) {
        become_ready();
    }
}

void Link::on_timeout() {
    poll();  // The event loop may have stalled.
    if (is_down() || is_ready()) {
        return;
    }
    if (Clock::now() < deadline_) {
        timeout_.start_until(deadline_);
    } else {
        lose("connecting timed out");
    }
}

void Link::move_on() noexcept {
    const auto& all = addresses_;
    if (all.empty()) {
        return;
    }
    const auto current = address_ ? std::ranges::find(all, *address_) : all.end();
    const auto next = current == all.end() ? all.end() : std::next(current);
    address_ = next == all.end() ? all.front() : *next;
}

}  // namespace tollgate::redis
