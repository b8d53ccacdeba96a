#include "module/redis/io/connection.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "module/redis/protocol/error_scope.hpp"

namespace tollgate::redis {

namespace {

using Clock = Pipeline::Clock;

/// Limits reconnects to a server that accepts a connection and closes it again and again.
constexpr std::chrono::milliseconds kBetweenPromptConnects{500};

/// How long a worker that shuts down waits for the reply to its last call: it may return leases.
constexpr std::chrono::milliseconds kExitWait{1000};

/// For so many times the timeout, replies of a link are read whose calls have timed out. Redis
/// executes no call later than twice the timeout after it was sent (see RedisClock::deadline); the
/// rest is for its reply to arrive.
constexpr int kLateReplies = 3;
/// So many such links are kept: the breaker opens before.
constexpr std::size_t kMostLate = 4;

}  // namespace

Connection::Connection(const Access& access, const SocketAddresses& addresses,
                       std::string probe_key, ConnectionListener& listener, CallTraits traits)
    : access_(access),
      addresses_(addresses),
      probe_key_(std::move(probe_key)),
      listener_(listener),
      traits_(traits),
      link_(
          std::make_unique<Link>(access, addresses, static_cast<LinkOwner&>(*this), traits.limits)),
      pipeline_(static_cast<std::uint64_t>(ngx_random()), access.conf.timeout),
      random_(static_cast<unsigned>(ngx_random())),
      reason_("no address is known"),
      timer_(Event::calling<&Connection::on_timer>(this, access.log)),
      exit_timer_(Event::calling<&Connection::hold_exit>(this, access.log)),
      move_event_(Event::calling<&Connection::take_successor>(this, access.log)) {
    timer_.set_cancelable(true);
    untried_ = other_addresses();
    // Without an address, calls wait for the first one until they time out.
    if (!addresses.empty()) {
        link_->connect();
    }
    watch_deadlines();
}

void Connection::run(Call call, std::unique_ptr<ReplyHandler> handler) noexcept {
    if (!is_reachable() || !push(std::move(call), std::move(handler))) {
        handler->on_unsent();  // NOLINT(bugprone-use-after-move): push has not taken it
        return;
    }
    release();
    watch_deadlines();
}

/// Returns false if memory is short; both arguments are then unchanged.
bool Connection::push(Call&& call, std::unique_ptr<ReplyHandler>&& handler) noexcept {
    try {
        pipeline_.push(std::move(call), std::move(handler), Clock::now());
        exit_until_ = Clock::now() + kExitWait;
        return true;
    } catch (const std::exception& e) {
        ngx_log_error(NGX_LOG_CRIT, access_.log, 0,
                      "tollgate: redis \"%s\": a call was not sent: %s", access_.conf.name.c_str(),
                      e.what());
        return false;
    }
}

void Connection::report_failure(std::string_view message) noexcept {
    if (!state_.on_refused(has_error_code(message, "READONLY"))) {
        return;
    }
    listener_.on_refusal(message);
    link_->leave_address();
    link_->give_up(message);
}

void Connection::release() noexcept {
    using State = ConnectionState::State;
    const bool is_probing = state_.state() == State::kProbing;
    if ((!is_probing && state_.state() != State::kSending) || !pipeline_.has_unreleased()) {
        return;
    }
    try {
        pipeline_.release(link_->out(), link_->position(), is_probing ? 1 : Pipeline::kAll);
        link_->flush_soon();
    } catch (const std::exception& e) {
        link_->give_up(e.what());
    }
}

void Connection::on_ready() {
    const bool is_first = state_.state() == ConnectionState::State::kNew;
    const bool is_probed = needs_probe();
    // Of several servers, this one may be read-only: calls that it refuses would fail.
    state_.on_ready(is_probed && addresses_.size() > 1);
    if (is_probed) {
        pipeline_.push_ahead(Probe::call(probe_key_),
                             std::make_unique<Probe>(static_cast<ProbeOwner&>(*this)),
                             Clock::now());
    }
    listener_.on_connected(is_first);
    release();
    watch_deadlines();
    if (link_->is_ready()) {
        follow_addresses();  // The list may have changed in the meantime.
    }
}

void Connection::on_written(std::uint64_t bytes) noexcept {
    if (!pipeline_.empty()) {
        pipeline_.note_written(bytes, Clock::now());
    }
}

void Connection::on_reply(const redisReply& reply) {
    const auto error = reply.type == REDIS_REPLY_ERROR ? text_of(reply) : std::string_view();
    const bool is_refusal =
        reply.type == REDIS_REPLY_ERROR && error_scope(error) == ErrorScope::kServer;
    const bool was_closed = breaker_.state() == Breaker::State::kClosed;
    switch (pipeline_.take(reply)) {
        case Pipeline::Taken::kValues:
            listener_.on_answer(std::chrono::duration_cast<std::chrono::microseconds>(
                Clock::now() - pipeline_.answered_push()));
            // A probe alone does not prove that later commands are accepted.
            if (was_closed && !state_.is_refused()) {
                backoff_.reset();
                untried_ = other_addresses();
            }
            break;
        case Pipeline::Taken::kError:
            if (is_refusal && !(traits_.are_various && is_forbidden(error))) {
                report_failure(error);
            } else {
                listener_.on_error();
            }
            break;
        case Pipeline::Taken::kAsking:
            break;
        case Pipeline::Taken::kRepeated:
            release();
            break;
        case Pipeline::Taken::kMismatched:
            // An unsolicited reply, or an error that concerns the connection itself.
            if (is_refusal) {
                report_failure(error);
            } else {
                link_->give_up(reply.type == REDIS_REPLY_ERROR ? error : "replies don't match");
            }
            break;
    }
    move_when_answered();
    watch_deadlines();
}

void Connection::on_lost(std::string_view reason) noexcept {
    fail(reason);
}

/// The link is lost, or did not connect. Calls that were not written are sent on the next link,
/// unless the breaker is open. It is no failure of the server if it closes an idle connection.
/// `late` has the calls that were written, if their link is kept.
void Connection::fail(std::string_view reason, LateReplies* late) noexcept {
    reason_ = LogText(reason);
    const bool is_failure =
        late != nullptr || state_.is_refused() || !pipeline_.empty() || !state_.is_connected();
    const bool is_readonly = state_.state() == ConnectionState::State::kReadOnly;
    state_.on_lost();
    if (try_next_address(is_readonly)) {
        if (late != nullptr) {
            late->time_out();
        }
        return;
    }
    if (is_failure || breaker_.state() != Breaker::State::kClosed) {
        listener_.on_error();
        if (breaker_.record_failure()) {
            listener_.on_breaker_open(reason_);
        }
    }
    log_loss(reason_, is_failure);
    listener_.on_lost();
    if (late != nullptr) {
        late->time_out();
    }
    if (is_reachable()) {
        pipeline_.fail_lost(Clock::now());
    } else {
        pipeline_.fail_all();
    }
    if (!link_->is_shutting_down()) {
        reconnect();
    }
    watch_deadlines();
}

void Connection::log_loss(std::string_view reason, bool is_failure) noexcept {
    if (breaker_.state() == Breaker::State::kOpen || ngx_exiting != 0) {
        return;
    }
    const ngx_uint_t level = is_failure ? NGX_LOG_WARN : NGX_LOG_NOTICE;
    if (const auto left_out = losses_.admit(Clock::now())) {
        ngx_log_error(level, access_.log, 0, "tollgate: redis \"%s\": %*s%s",
                      access_.conf.name.c_str(), reason.size(), reason.data(),
                      *left_out > 0 ? "; more connections were lost since the last line" : "");
    }
}

/// Reconnects at once if the breaker is closed, for example when Redis closed an idle connection,
/// but only once per kBetweenPromptConnects. Otherwise after a delay.
void Connection::reconnect() noexcept {
    const Time now = Clock::now();
    if (successor_ != nullptr && successor_->is_usable()) {
        move_when_answered();
        retry_at_ = now + kBetweenPromptConnects;
        return;
    }
    // The link itself connects to one of the new addresses.
    successor_.reset();
    if (is_reachable() && next_prompt_connect_ <= now) {
        next_prompt_connect_ = now + kBetweenPromptConnects;
        link_->connect();
        return;
    }
    retry_at_ = now + backoff_.next(std::uniform_real_distribution<>()(random_));
}

void Connection::on_timer() noexcept {
    const Time now = Clock::now();
    end_late(now);
    if (!pipeline_.empty() && pipeline_.first_deadline() <= now) {
        time_out(now);
    }
    if (may_connect() && retry_at_ <= now) {
        link_->connect();
    }
    watch_deadlines();
}

/// The deadline of a call has passed. The cause may be a stall of this worker. Therefore read the
/// replies that have arrived, and extend the deadline once after a stall.
void Connection::time_out(Time now) noexcept {
    const bool stalled = now - pipeline_.first_deadline() > kLateTimer;
    link_->poll();
    if (pipeline_.empty()) {
        return;
    }
    if (stalled) {
        pipeline_.postpone(now);
    }
    if (pipeline_.first_deadline() > now) {
        return;
    }
    if (link_->is_down()) {
        fail(LogText(reason_));
    } else {
        leave_late(now);
    }
}

/// The calls on the link have failed, but their replies are still read. Another link takes its
/// place. Without memory, or if the link is not ready, it is closed.
void Connection::leave_late(Time now) noexcept {
    constexpr std::string_view kReason = "a command timed out";
    LateReplies* late = nullptr;
    try {
        if (link_->is_ready() && pipeline_.has_written() && late_.size() < kMostLate) {
            auto next = std::make_unique<Link>(access_, addresses_, static_cast<LinkOwner&>(*this),
                                               traits_.limits);
            next->start_at(link_->address());
            auto replies = std::make_unique<LateReplies>();
            late_.reserve(kMostLate);
            Pipeline written = pipeline_.split_written();
            // Nothing throws from here on.
            late = replies.get();
            late->take(std::exchange(link_, std::move(next)), std::move(written),
                       now + kLateReplies * access_.conf.timeout);
            late_.push_back(std::move(replies));
        }
    } catch (const std::exception& e) {
        ngx_log_error(NGX_LOG_CRIT, access_.log, 0, "tollgate: redis \"%s\": %s",
                      access_.conf.name.c_str(), e.what());
    }
    if (late == nullptr) {
        link_->give_up(kReason);
        return;
    }
    fail(kReason, late);
    end_late(now);
}

/// Closes the links of which no reply is awaited any more.
void Connection::end_late(Time now) noexcept {
    for (std::size_t i = 0; i < late_.size();) {
        if (late_[i]->is_over(now)) {
            const auto ended = std::move(late_[i]);
            late_.erase(late_.begin() + static_cast<std::ptrdiff_t>(i));
            ended->fail();
        } else {
            ++i;
        }
    }
}

/// A worker that shuts down exits as soon as its last request has ended. It waits for a call
/// without a request, but not for `timeout`: Redis may hang.
void Connection::hold_exit() noexcept {
    if (ngx_exiting != 0 && (!pipeline_.empty() || !late_.empty()) && Clock::now() < exit_until_) {
        exit_timer_.start_until(exit_until_);
    } else {
        exit_timer_.cancel();
    }
}

/// Sets the timer to the earliest deadline.
void Connection::watch_deadlines() noexcept {
    hold_exit();
    std::optional<Time> end;
    if (may_connect()) {
        end = retry_at_;
    }
    const auto watch = [&end](Time other) { end = end ? std::min(*end, other) : other; };
    if (!pipeline_.empty()) {
        watch(pipeline_.first_deadline());
    }
    if (!late_.empty()) {
        watch(late_.front()->end());
    }
    if (!end) {
        return;
    }
    // A timer that is set for an earlier time remains: it calls this function again. This saves
    // updates of the tree of timers.
    if (!timer_.is_running() || *end < timer_end_) {
        timer_end_ = *end;
        timer_.start_until(*end);
    }
}

}  // namespace tollgate::redis
