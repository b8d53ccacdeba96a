#include "module/redis/link.hpp"

#include <array>
#include <exception>
#include <utility>

namespace tollgate::redis {

template <void (Link::*Method)()>
void Link::call() noexcept {
    try {
        (this->*Method)();
    } catch (const std::exception& e) {
        reading_ = false;
        lose(e.what());
    }
}

template <void (Link::*Method)()>
void Link::handle(ngx_event_t* event) noexcept {
    static_cast<Link*>(static_cast<ngx_connection_t*>(event->data)->data)->call<Method>();
}

Link::Link(const Endpoint& endpoint, LinkOwner& owner, ngx_log_t* log)
    : endpoint_(endpoint),
      owner_(owner),
      log_(log),
      quiet_log_(*log),
      timeout_(Event::calling<&Link::call<&Link::on_timeout>>(this, log)),
      flush_event_(Event::calling<&Link::call<&Link::flush>>(this, log)) {
    quiet_log_.log_level = NGX_LOG_ALERT;
    timeout_.let_shutdown_pass(true);
}

Link::~Link() {
    close_socket();
}

void Link::connect() noexcept {
    call<&Link::open_socket>();
}

void Link::open_socket() {
    const auto& addr = endpoint_.addrs[next_addr_++ % endpoint_.addrs.size()];
    peer_ = {};
    peer_.sockaddr = addr.sockaddr;
    peer_.socklen = addr.socklen;
    peer_.name = const_cast<ngx_str_t*>(&addr.name);
    peer_.get = ngx_event_get_peer;
    peer_.log = &quiet_log_;
    peer_.log_error = NGX_ERROR_ERR;
    peer_.so_keepalive = addr.sockaddr->sa_family == AF_UNIX ? 0 : 1;

    const ngx_int_t rc = ngx_event_connect_peer(&peer_);
    if (rc != NGX_OK && rc != NGX_AGAIN) {
        const ngx_err_t error = ngx_socket_errno;
        peer_.connection = nullptr;
        lose(failed_connect(error));
        return;
    }
    ngx_connection_t* connection = peer_.connection;
    connection->data = this;
    connection->log = log_;
    connection->read->log = log_;
    connection->write->log = log_;
    connection->read->handler = handle<&Link::on_readable>;
    connection->write->handler = handle<&Link::on_writable>;
    connection->idle = 1;  // ngx_close_idle_connections then tells that the worker shuts down
    ngx_tcp_nodelay(connection);  // A turn's commands don't wait for the replies of those before.
    reader_ = std::make_unique<ReplyReader>();
    state_ = State::kConnecting;
    timeout_.start(static_cast<ngx_msec_t>(endpoint_.connect_timeout.count()));
    if (rc == NGX_OK) {
        greet();
    }
}

/// Asks whether connect() succeeded, as ngx_http_upstream_test_connect does, and goes on.
void Link::finish_connecting() {
    int error = 0;
    socklen_t length = sizeof(error);
    if (getsockopt(peer_.connection->fd, SOL_SOCKET, SO_ERROR, &error, &length) == -1) {
        error = ngx_socket_errno;
    }
    if (error != 0) {
        lose(failed_connect(error));
    } else {
        greet();
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
    greeting_.begin(endpoint_.username, endpoint_.password, endpoint_.database, out_);
    if (greeting_.done()) {
        become_ready();
    } else {
        flush_soon();
    }
}

void Link::become_ready() {
    state_ = State::kReady;
    timeout_.cancel();
    owner_.on_ready();
}

void Link::flush_soon() {
    flush_event_.post();
}

void Link::flush() {
    ngx_connection_t* connection = peer_.connection;
    while (written_ < out_.size() && connection->write->ready) {
        const ssize_t n = connection->send(
            connection, reinterpret_cast<u_char*>(out_.data()) + written_, out_.size() - written_);
        if (n == NGX_ERROR) {
            lose("write failed");
            return;
        }
        written_ += n > 0 ? n : 0;
    }
    if (written_ == out_.size()) {
        out_.clear();
        written_ = 0;
    }
    if (ngx_handle_write_event(connection->write, 0) != NGX_OK) {
        lose("can't watch the socket");
    }
}

void Link::on_writable() {
    if (was_closed_by_nginx()) {
        return;
    }
    if (state_ == State::kConnecting) {
        finish_connecting();
    } else {
        flush();
    }
}

/// nginx closes connections by a call of their handlers: those that are idle when a graceful
/// shutdown begins, and all of them when its time is up.
bool Link::was_closed_by_nginx() {
    ngx_connection_t* connection = peer_.connection;
    if (connection->close == 0) {
        return false;
    }
    if (connection->error != 0) {
        over_ = true;
        lose("the worker shuts down");
        return true;
    }
    connection->close = 0;
    owner_.on_shutdown();
    return true;
}

void Link::on_readable() {
    if (was_closed_by_nginx()) {
        return;
    }
    if (state_ == State::kConnecting) {
        finish_connecting();
    }
    // Edge-triggered: what is not read now is not announced again.
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): recv fills it
    std::array<u_char, 16384> buffer;
    while (!is_down() && peer_.connection->read->ready) {
        ngx_connection_t* connection = peer_.connection;
        const ssize_t n = connection->recv(connection, buffer.data(), buffer.size());
        if (n == NGX_AGAIN) {
            break;
        }
        if (n <= 0) {
            lose(n == 0 ? "closed by the server" : "read failed");
            return;
        }
        reader_->feed({reinterpret_cast<const char*>(buffer.data()), static_cast<std::size_t>(n)});
        take_replies();
    }
    if (!is_down() && ngx_handle_read_event(peer_.connection->read, 0) != NGX_OK) {
        lose("can't watch the socket");
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
            owner_.on_reply(*reply);
        }
    }
    reading_ = false;
    if (giving_up_) {
        lose(*std::exchange(giving_up_, std::nullopt));
    } else if (reader_->broken()) {
        lose(std::string(reader_->error()));
    }
}

void Link::take_greeting(const redisReply& reply) {
    if (!greeting_.take(reply)) {
        // What doesn't know AUTH may repeat its arguments: ", with args beginning with: …".
        const auto words = text_of(reply);
        give_up(words.substr(0, words.find(',')));
    } else if (greeting_.done()) {
        become_ready();
    }
}

void Link::on_timeout() {
    lose("connecting timed out");
}

void Link::give_up(std::string_view reason) {
    if (reading_) {
        giving_up_.emplace(reason);
    } else {
        lose(reason);
    }
}

void Link::lose(std::string_view reason) noexcept {
    close_socket();
    owner_.on_lost(reason);
}

void Link::close_socket() noexcept {
    if (peer_.connection != nullptr) {
        ngx_close_connection(std::exchange(peer_.connection, nullptr));
    }
    timeout_.cancel();
    flush_event_.cancel();
    state_ = State::kDown;
    out_.clear();
    written_ = 0;
    giving_up_.reset();
}

}  // namespace tollgate::redis
