#include "module/redis/io/link.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace tollgate::redis {

namespace {

/// The most bytes that are written at once: the data of one record of TLS (RFC 8446, section 5.1).
constexpr std::size_t kMostWritten = 16384;

}  // namespace

Link::Link(const Access& access, const SocketAddresses& addresses, LinkOwner& owner,
           ReplyLimits limits)
    : access_(access),
      addresses_(addresses),
      owner_(&owner),
      limits_(limits),
      quiet_log_(*access.log),
      timeout_(Event::calling<&Link::call<&Link::on_timeout>>(this, access.log)),
      flush_event_(Event::calling<&Link::call<&Link::flush>>(this, access.log)) {
    quiet_log_.log_level = NGX_LOG_ALERT;
    timeout_.set_cancelable(true);
}

Link::~Link() {
    close_socket();
}

void Link::flush() {
    ngx_connection_t* connection = peer_.connection;
    const auto sent_before = sent_;
    while (written_ < out_.size() && connection->write->ready) {
        // SSL_write() that is repeated with more bytes writes the pending record and begins the
        // next one. If that one blocks, it does not say that the first one was written.
        const auto size = blocked_ > 0 ? blocked_ : std::min(out_.size() - written_, kMostWritten);
        const ssize_t n =
            connection->send(connection, reinterpret_cast<u_char*>(out_.data()) + written_, size);
        if (n == NGX_AGAIN) {
            blocked_ = size;
            break;  // With TLS, the socket may still be writable: OpenSSL must read first.
        }
        blocked_ = 0;
        if (n == NGX_ERROR) {
            owner_->on_written(sent_);  // A part may have been written.
            lose(socket_log_.take("write failed"));
            return;
        }
        if (n > 0) {
            written_ += static_cast<std::size_t>(n);
            sent_ += static_cast<std::uint64_t>(n);
        }
    }
    if (written_ == out_.size()) {
        out_.clear();
        written_ = 0;
    }
    if (sent_ != sent_before) {
        owner_->on_written(sent_);
    }
    if (ngx_handle_write_event(connection->write, 0) != NGX_OK) {
        lose("can't watch the socket");
    }
}

void Link::on_writable() {
    if (was_closed_by_nginx()) {
        return;
    }
    if (is_established()) {
        flush();
    } else {
        establish();
    }
}

/// nginx closes connections by calling their handlers when worker_shutdown_timeout expires.
bool Link::was_closed_by_nginx() {
    if (peer_.connection->close == 0) {
        return false;
    }
    drop("the worker shuts down", State::kClosed);
    return true;
}

void Link::on_readable() {
    if (was_closed_by_nginx()) {
        return;
    }
    establish();
    read();
}

void Link::read() {
    // Edge-triggered: nginx reports data only once, so read all of it.
    std::array<u_char, 16384> buffer;
    while (is_established() && peer_.connection->read->ready) {
        ngx_connection_t* connection = peer_.connection;
        const ssize_t n = connection->recv(connection, buffer.data(), buffer.size());
        if (n == NGX_AGAIN) {
            break;
        }
        if (n <= 0) {
            lose(n == 0 ? LogText("closed by the server") : socket_log_.take("read failed"));
            return;
        }
        reader_->feed({reinterpret_cast<const char*>(buffer.data()), static_cast<std::size_t>(n)});
        take_replies();
    }
    if (!is_down() && ngx_handle_read_event(peer_.connection->read, 0) != NGX_OK) {
        lose("can't watch the socket");
    }
}

void Link::poll() noexcept {
    if (!is_down() && !reading_) {
        call<&Link::read_and_write>();
    }
}

void Link::read_and_write() {
    if (state_ != State::kConnecting || is_connected()) {
        establish();
    }
    // The event loop does not know the current state of the socket yet.
    if (is_established()) {
        peer_.connection->write->ready = 1;
        flush();
    }
    if (is_established()) {
        peer_.connection->read->ready = 1;
        peer_.connection->read->available = -1;
        read();
    }
}

void Link::take_replies() {
    reading_ = true;
    while (!giving_up_) {
        const auto reply = reader_->next();
        if (!reply) {
            break;
        }
        if (state_ == State::kGreeting) {
            take_greeting(*reply);
        } else {
            owner_->on_reply(*reply);
        }
    }
    reading_ = false;
    if (giving_up_) {
        lose(*giving_up_);
    } else if (reader_->broken()) {
        lose(reader_->error());
    }
}

void Link::give_up(std::string_view reason) noexcept {
    if (reading_) {
        giving_up_.emplace(reason);
    } else if (!is_down()) {
        drop(reason);
    }
}

void Link::stop_writing() noexcept {
    flush_event_.cancel();
    out_.clear();
    written_ = 0;
    blocked_ = 0;
}

/// The connection has failed: tries the next address, or reports the loss to the owner.
void Link::lose(std::string_view reason) noexcept {
    if (state_ == State::kReady) {
        drop(reason);
        return;
    }
    if (!failures_.empty()) {
        failures_.append("; ");
    }
    failures_.append(reason);
    close_socket();
    move_on();
    if (!trying_) {
        try_addresses();
    }
}

void Link::drop(std::string_view reason, State end) noexcept {
    const LogText copy(reason);  // `reason` may point into an object that is closed here.
    if (state_ != State::kReady || leaves_address_) {
        move_on();
    }
    close_socket();
    state_ = end;
    owner_->on_lost(copy);
}

void Link::close_socket() noexcept {
    if (peer_.connection != nullptr) {
        TlsPeer::close(std::exchange(peer_.connection, nullptr));
    }
    timeout_.cancel();
    flush_event_.cancel();
    state_ = State::kDown;
    leaves_address_ = false;
    out_.clear();
    written_ = 0;
    blocked_ = 0;
    sent_ = 0;
    giving_up_.reset();
}

}  // namespace tollgate::redis
