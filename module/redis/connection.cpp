#include "module/redis/connection.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

namespace tollgate::redis {

namespace {

constexpr std::chrono::milliseconds kAfterException{1000};
/// A server that greets and hangs up, again and again, must not keep the worker busy.
constexpr std::chrono::milliseconds kBetweenPromptConnects{500};

ngx_str_t as_ngx_str(std::string_view text) {
    return {text.size(), reinterpret_cast<u_char*>(const_cast<char*>(text.data()))};
}

ngx_msec_t from_now(std::chrono::milliseconds time) {
    return ngx_current_msec + static_cast<ngx_msec_t>(time.count());
}

/// Before or at the present; nginx's milliseconds wrap around, so that only differences count.
bool is_over(ngx_msec_t deadline) {
    return static_cast<ngx_msec_int_t>(deadline - ngx_current_msec) <= 0;
}

bool is_earlier(ngx_msec_t a, ngx_msec_t b) {
    return static_cast<ngx_msec_int_t>(a - b) < 0;
}

}  // namespace

template <void (Connection::*Method)()>
void Connection::handle(ngx_event_t* event) noexcept {
    auto* self = static_cast<Connection*>(static_cast<ngx_connection_t*>(event->data)->data);
    try {
        (self->*Method)();
    } catch (const std::exception& e) {
        ngx_log_error(NGX_LOG_CRIT, self->log_, 0, "tollgate: redis: %s", e.what());
        self->close_socket();
        self->served_before_ = false;
        self->pipeline_.fail_all();
        self->retry_after(kAfterException);
    }
}

Connection::Connection(const Endpoint& endpoint, ngx_log_t* log)
    : endpoint_(endpoint),
      log_(log),
      quiet_log_(*log),
      random_(static_cast<unsigned>(ngx_random())),
      pipeline_(static_cast<std::uint64_t>(ngx_random())),
      calm_until_(ngx_current_msec) {
    quiet_log_.log_level = NGX_LOG_ALERT;
    ident_.fd = static_cast<ngx_socket_t>(-1);
    ident_.data = this;
    for (ngx_event_t* event : {&timer_, &flush_event_}) {
        event->data = &ident_;
        event->log = log;
    }
    timer_.handler = handle<&Connection::on_timer>;
    flush_event_.handler = handle<&Connection::flush>;
    connect();
}

Connection::~Connection() {
    close_socket();
    pipeline_.fail_all();
    if (timer_.timer_set) {
        ngx_del_timer(&timer_);
    }
    if (flush_event_.posted) {
        ngx_delete_posted_event(&flush_event_);
    }
}

bool Connection::send(std::span<const std::string> command, std::unique_ptr<ReplyHandler> handler) {
    if (state_ == State::kDown && !served_before_) {
        return false;
    }
    pipeline_.push(command, std::move(handler), from_now(endpoint_.timeout));
    if (state_ == State::kReady) {
        flush_soon();
    }
    watch_deadlines();
    return true;
}

void Connection::connect() {
    const auto& addr = endpoint_.addrs[next_addr_++ % endpoint_.addrs.size()];
    peer_ = {};
    peer_.sockaddr = addr.sockaddr;
    peer_.socklen = addr.socklen;
    peer_.name = const_cast<ngx_str_t*>(&addr.name);
    peer_.get = ngx_event_get_peer;
    peer_.log = backoff_.is_fresh() ? log_ : &quiet_log_;
    peer_.log_error = NGX_ERROR_ERR;
    peer_.so_keepalive = addr.sockaddr->sa_family == AF_UNIX ? 0 : 1;

    const ngx_int_t rc = ngx_event_connect_peer(&peer_);
    if (rc != NGX_OK && rc != NGX_AGAIN) {
        peer_.connection = nullptr;
        lose("can't connect");
        return;
    }
    ngx_connection_t* connection = peer_.connection;
    connection->data = this;
    connection->log = log_;
    connection->read->log = log_;
    connection->write->log = log_;
    connection->read->handler = handle<&Connection::on_readable>;
    connection->write->handler = handle<&Connection::on_writable>;
    ngx_tcp_nodelay(connection);  // A turn's commands don't wait for the replies of those before.
    reader_ = std::make_unique<ReplyReader>();
    state_ = State::kConnecting;
    connect_deadline_ = from_now(endpoint_.connect_timeout);
    if (rc == NGX_OK) {
        greet();
    }
    watch_deadlines();
}

/// Asks whether connect() succeeded, as ngx_http_upstream_test_connect does, and goes on.
bool Connection::finish_connecting() {
    int error = 0;
    socklen_t length = sizeof(error);
    if (getsockopt(peer_.connection->fd, SOL_SOCKET, SO_ERROR, &error, &length) == -1) {
        error = ngx_socket_errno;
    }
    if (error != 0) {
        ngx_log_error(NGX_LOG_ERR, peer_.log, error, "connect() to %V failed", peer_.name);
        lose("can't connect");
        return false;
    }
    greet();
    watch_deadlines();
    return true;
}

void Connection::greet() {
    state_ = State::kGreeting;
    greeting_.begin(endpoint_.username, endpoint_.password, endpoint_.database, out_);
    if (greeting_.done()) {
        become_ready();
    } else {
        flush_soon();
    }
}

/// A fence goes first, or with what waited: its reply shows that the server serves, before there is
/// a command that depends on it.
void Connection::become_ready() {
    state_ = State::kReady;
    pipeline_.release(out_);
    flush_soon();
}

/// Writes at the end of this turn of the event loop, when all its commands are there.
void Connection::flush_soon() {
    if (!flush_event_.posted) {
        ngx_post_event(&flush_event_, &ngx_posted_events);
    }
}

void Connection::flush() {
    if (state_ != State::kGreeting && state_ != State::kReady) {
        return;
    }
    if (state_ == State::kReady && pipeline_.has_unreleased()) {
        pipeline_.release(out_);
    }
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

void Connection::on_writable() {
    if (peer_.connection->close) {
        lose("the worker shuts down");
        return;
    }
    if (state_ == State::kConnecting) {
        finish_connecting();
    } else {
        flush();
    }
}

void Connection::on_readable() {
    ngx_connection_t* connection = peer_.connection;
    if (connection->close) {
        lose("the worker shuts down");
        return;
    }
    if (state_ == State::kConnecting && !finish_connecting()) {
        return;
    }
    // Edge-triggered: what is not read now is not announced again.
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): recv fills it
    std::array<u_char, 16384> buffer;
    while (connection->read->ready) {
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
        if (reader_->broken() || renew_) {
            lose(reader_->broken() ? std::string_view(reader_->error())
                                   : "a new connection is needed");
            return;
        }
    }
    if (ngx_handle_read_event(connection->read, 0) != NGX_OK) {
        lose("can't watch the socket");
        return;
    }
    watch_deadlines();
}

void Connection::take_replies() {
    while (auto reply = reader_->next()) {
        if (state_ == State::kGreeting) {
            take_greeting(*reply);
        } else {
            take_reply(std::move(reply));
        }
        if (renew_ || state_ == State::kDown) {
            return;
        }
    }
}

void Connection::take_greeting(const redisReply& reply) {
    if (!greeting_.take(reply)) {
        // What doesn't know AUTH may repeat its arguments: ", with args beginning with: …".
        const auto words = text_of(reply);
        ngx_str_t text = as_ngx_str(words.substr(0, words.find(',')));
        ngx_log_error(NGX_LOG_ERR, log_, 0, "tollgate: redis \"%s\" refuses: %V",
                      endpoint_.name.c_str(), &text);
        renew();
    } else if (greeting_.done()) {
        become_ready();
    }
}

void Connection::take_reply(ReplyPtr reply) {
    const auto taken = pipeline_.take(reply);
    if (taken == Pipeline::Taken::kMismatched) {
        // Not what was asked for: a stray reply, or an error that every command gets (LOADING,
        // NOAUTH, BUSY).
        ngx_str_t text =
            as_ngx_str(reply->type == REDIS_REPLY_ERROR ? text_of(*reply) : "replies don't match");
        ngx_log_error(NGX_LOG_ERR, log_, 0, "tollgate: redis \"%s\": %V", endpoint_.name.c_str(),
                      &text);
        renew();
    } else if (taken == Pipeline::Taken::kSettled && !backoff_.is_fresh()) {
        ngx_log_error(NGX_LOG_NOTICE, log_, 0, "tollgate: redis \"%s\" is back",
                      endpoint_.name.c_str());
        backoff_.reset();
    }
}

void Connection::on_timer() {
    if (state_ == State::kDown) {
        connect();
    } else if (state_ != State::kReady && is_over(connect_deadline_)) {
        lose("connecting timed out");
    } else if (!pipeline_.empty() && is_over(pipeline_.first_deadline())) {
        lose("a command timed out");
    } else {
        watch_deadlines();
    }
}

/// Gives the connection up and tells all that wait on it. A connection that has served is made anew
/// at once (its server may have closed it for being idle), or shortly if that happened just before;
/// commands that have not left yet go there. One that never served is tried again after a delay.
void Connection::lose(std::string_view reason) {
    served_before_ = backoff_.is_fresh();
    const bool at_once = served_before_ && is_over(calm_until_);
    const double random = static_cast<double>(random_() - std::minstd_rand::min()) /
                          static_cast<double>(std::minstd_rand::max() - std::minstd_rand::min());
    const auto delay = backoff_.next(random);
    if (served_before_ && !ngx_exiting) {
        ngx_str_t text = as_ngx_str(reason);
        const ngx_uint_t level = pipeline_.empty() ? NGX_LOG_NOTICE : NGX_LOG_ERR;
        ngx_log_error(level, log_, 0, "tollgate: redis \"%s\": %V", endpoint_.name.c_str(), &text);
    }
    close_socket();
    if (served_before_) {
        pipeline_.fail_released();
    } else {
        pipeline_.fail_all();
    }
    if (at_once) {
        calm_until_ = from_now(kBetweenPromptConnects);
        connect();
    } else {
        retry_after(delay);
    }
}

void Connection::retry_after(std::chrono::milliseconds delay) {
    if (timer_.timer_set) {
        ngx_del_timer(&timer_);
    }
    timer_.cancelable = pipeline_.empty() ? 1 : 0;
    ngx_add_timer(&timer_, static_cast<ngx_msec_t>(delay.count()));
}

void Connection::close_socket() {
    if (peer_.connection != nullptr) {
        ngx_close_connection(peer_.connection);
        peer_.connection = nullptr;
    }
    state_ = State::kDown;
    out_.clear();
    written_ = 0;
    renew_ = false;
}

/// Sets the timer to the first deadline. A worker that shuts down waits for it only while a command
/// waits.
void Connection::watch_deadlines() {
    timer_.cancelable = pipeline_.empty() ? 1 : 0;
    if (state_ == State::kDown || (state_ == State::kReady && pipeline_.empty())) {
        return;
    }
    ngx_msec_t deadline = state_ == State::kReady ? pipeline_.first_deadline() : connect_deadline_;
    if (!pipeline_.empty() && is_earlier(pipeline_.first_deadline(), deadline)) {
        deadline = pipeline_.first_deadline();
    }
    // A timer that is set for earlier is left alone: it comes here again. That spares the tree of
    // timers the work.
    if (timer_.timer_set && is_earlier(deadline, timer_.timer.key)) {
        ngx_del_timer(&timer_);
    }
    if (!timer_.timer_set) {
        const auto rest = static_cast<ngx_msec_int_t>(deadline - ngx_current_msec);
        ngx_add_timer(&timer_, static_cast<ngx_msec_t>(std::max<ngx_msec_int_t>(rest, 0)));
    }
}

}  // namespace tollgate::redis
