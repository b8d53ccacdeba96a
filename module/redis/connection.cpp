#include "module/redis/connection.hpp"

#include <algorithm>
#include <utility>

namespace tollgate::redis {

namespace {

/// A server that greets and hangs up, again and again, must not keep the worker busy.
constexpr std::chrono::milliseconds kBetweenPromptConnects{500};

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

/// A call that decides nothing: its answer shows that Redis serves.
class Connection::Probe : public ReplyHandler {
  public:
    explicit Probe(Connection& connection) : connection_(connection) {}
    static Call call() { return {&acquire_script(), {}, {"3", "0"}}; }

    void on_values(std::span<const redisReply* const> /*values*/) noexcept override {}
    void on_error(std::string_view message) noexcept override {
        connection_.link_.give_up(message);
    }
    void on_failure() noexcept override {}

  private:
    Connection& connection_;
};

Connection::Connection(const Endpoint& endpoint, ConnectionListener& listener, ngx_log_t* log)
    : endpoint_(endpoint),
      listener_(listener),
      log_(log),
      link_(endpoint, *this, log),
      pipeline_(static_cast<std::uint64_t>(ngx_random())),
      random_(static_cast<unsigned>(ngx_random())),
      calm_until_(ngx_current_msec),
      timer_(Event::calling<&Connection::on_timer>(this, log)) {
    link_.connect();
    watch_deadlines();
}

Connection::~Connection() {
    pipeline_.fail_all();
}

void Connection::run(Call call, std::unique_ptr<ReplyHandler> handler) {
    if (!is_reachable()) {
        return;
    }
    pipeline_.push(std::move(call), std::move(handler), from_now(endpoint_.timeout));
    release();
    watch_deadlines();
}

void Connection::release() {
    if (link_.is_ready() && pipeline_.has_unreleased()) {
        pipeline_.release(link_.out());
        link_.flush_soon();
    }
}

void Connection::on_ready() {
    if (std::exchange(was_ready_, true)) {
        listener_.on_reconnect();
    }
    if (breaker_.state() != Breaker::State::kClosed) {
        pipeline_.push_ahead(Probe::call(), std::make_unique<Probe>(*this),
                             from_now(endpoint_.timeout));
    }
    release();
    watch_deadlines();
}

void Connection::on_reply(const redisReply& reply) {
    switch (pipeline_.take(reply)) {
        case Pipeline::Taken::kValues:
            listener_.on_answer(std::chrono::duration_cast<std::chrono::microseconds>(
                Pipeline::Clock::now() - pipeline_.answered_push()));
            backoff_.reset();
            if (breaker_.answer()) {
                listener_.on_breaker_close();
            }
            break;
        case Pipeline::Taken::kError:
            listener_.on_error();
            break;
        case Pipeline::Taken::kRepeated:
            release();
            break;
        case Pipeline::Taken::kMismatched:
            // A stray reply, or an error that Redis has for the connection itself.
            link_.give_up(reply.type == REDIS_REPLY_ERROR ? text_of(reply) : "replies don't match");
            break;
    }
    watch_deadlines();
}

/// Tells those that wait on a link that it is gone. Calls that have not left yet go out on the next
/// one, while the breaker lets them.
void Connection::on_lost(std::string_view reason) noexcept {
    const bool is_failure = !pipeline_.empty() || breaker_.state() != Breaker::State::kClosed;
    if (is_failure) {
        listener_.on_error();
        if (breaker_.fail()) {
            listener_.on_breaker_open(reason);
        }
    }
    log_loss(reason);
    if (is_reachable()) {
        pipeline_.fail_released();
    } else {
        pipeline_.fail_all();
    }
    if (!link_.is_over()) {
        reconnect();
    }
    watch_deadlines();
}

void Connection::log_loss(std::string_view reason) const {
    if (breaker_.state() != Breaker::State::kOpen && ngx_exiting == 0) {
        const ngx_uint_t level = pipeline_.empty() ? NGX_LOG_NOTICE : NGX_LOG_WARN;
        ngx_log_error(level, log_, 0, "tollgate: redis \"%s\": %*s", endpoint_.name.c_str(),
                      reason.size(), reason.data());
    }
}

/// At once where Redis served just now (it may have closed a connection for being idle), but not
/// again and again; else after a delay.
void Connection::reconnect() {
    if (is_reachable() && is_over(calm_until_)) {
        calm_until_ = from_now(kBetweenPromptConnects);
        link_.connect();
        return;
    }
    const double random = static_cast<double>(random_() - std::minstd_rand::min()) /
                          static_cast<double>(std::minstd_rand::max() - std::minstd_rand::min());
    retry_at_ = from_now(backoff_.next(random));
}

void Connection::on_timer() {
    if (!pipeline_.empty() && is_over(pipeline_.first_deadline())) {
        link_.give_up("a command timed out");
    } else if (link_.is_down() && is_over(retry_at_)) {
        link_.connect();
    }
    watch_deadlines();
}

/// Sets the timer to what is due first. A worker that shuts down waits for it only while a call
/// waits.
void Connection::watch_deadlines() {
    timer_.let_shutdown_pass(pipeline_.empty());
    const bool is_down = link_.is_down() && !link_.is_over();
    if (!is_down && pipeline_.empty()) {
        return;
    }
    ngx_msec_t deadline = is_down ? retry_at_ : pipeline_.first_deadline();
    if (!pipeline_.empty() && is_earlier(pipeline_.first_deadline(), deadline)) {
        deadline = pipeline_.first_deadline();
    }
    // A timer that is set for earlier is left alone: it comes here again. That spares the tree of
    // timers the work.
    if (timer_.is_running() && is_earlier(deadline, timer_.end())) {
        timer_.cancel();
    }
    if (!timer_.is_running()) {
        const auto rest = static_cast<ngx_msec_int_t>(deadline - ngx_current_msec);
        timer_.start(static_cast<ngx_msec_t>(std::max<ngx_msec_int_t>(rest, 0)));
    }
}

}  // namespace tollgate::redis
