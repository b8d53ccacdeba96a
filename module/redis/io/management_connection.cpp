#include "module/redis/io/management_connection.hpp"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <utility>

namespace tollgate::redis {

namespace {

using namespace std::chrono_literals;

/// Redis returns a small hash as a whole: hash-max-listpack-entries may be large.
constexpr ReplyLimits kReplyLimits{.elements = 16384, .bytes = 1048576};
constexpr std::int64_t kFewestCalls = 1;
constexpr std::int64_t kMostCalls = 256;
/// Redis takes some 25 us for a call: a request waits for a quarter of its round trip at most.
constexpr std::chrono::microseconds kRoundTripPerCall = 100us;

}  // namespace

/// Receives the reply to a call, then lets the next one be sent.
class ManagementConnection::UnderWay final : public ReplyHandler {
  public:
    UnderWay(ManagementConnection& connection, std::unique_ptr<ReplyHandler> handler)
        : connection_(connection), handler_(std::move(handler)) {}

    void on_values(std::span<const redisReply* const> values) noexcept override {
        connection_.end_one();
        handler_->on_values(values);
    }
    void on_error(std::string_view message) noexcept override {
        connection_.end_one();
        handler_->on_error(message);
    }
    void on_failure() noexcept override {
        connection_.end_one();
        handler_->on_failure();
    }

  private:
    ManagementConnection& connection_;
    std::unique_ptr<ReplyHandler> handler_;
};

ManagementConnection::ManagementConnection(const Access& access, const SocketAddresses& addresses,
                                           std::string probe_key, ConnectionListener& listener)
    : access_(access),
      addresses_(addresses),
      probe_key_(std::move(probe_key)),
      listener_(listener),
      next_(Event::calling<&ManagementConnection::send_waiting>(this, access.log)) {}

ManagementConnection::~ManagementConnection() = default;

void ManagementConnection::run(Call call, std::unique_ptr<ReplyHandler> handler) noexcept {
    const auto waiting = waiting_.size();
    try {
        if (connection_ == nullptr) {
            connection_ = std::make_unique<Connection>(
                access_, addresses_, probe_key_, static_cast<ConnectionListener&>(*this),
                CallTraits{.limits = kReplyLimits, .are_various = true});
        }
        Waiting& last = waiting_.emplace_back();
        last.handler = std::make_unique<UnderWay>(*this, std::move(handler));
        last.call = std::move(call);
    } catch (const std::exception& e) {
        waiting_.resize(waiting);
        ngx_log_error(NGX_LOG_CRIT, access_.log, 0,
                      "tollgate: redis \"%s\": a call was not sent: %s", access_.conf.name.c_str(),
                      e.what());
        handler->on_failure();  // NOLINT(bugprone-use-after-move): it was not moved
        return;
    }
    send_soon();
}

bool ManagementConnection::may_send() const noexcept {
    const auto most =
        shortest_round_trip_ == std::chrono::microseconds::max()
            ? kFewestCalls
            : std::clamp(shortest_round_trip_ / kRoundTripPerCall, kFewestCalls, kMostCalls);
    return !waiting_.empty() && std::cmp_less(under_way_, most);
}

/// Not within a handler: it may send further calls, which belong into the same write.
void ManagementConnection::send_soon() noexcept {
    if (may_send() && !next_.is_running()) {
        next_.post();
    }
}

void ManagementConnection::note_request() noexcept {
    pace_.note_request(ManagementPace::Time(ngx_current_msec));
}

void ManagementConnection::send_waiting() noexcept {
    while (may_send()) {
        if (!pace_.take(ManagementPace::Time(ngx_current_msec))) {
            next_.start(1);
            return;
        }
        Waiting next = std::move(waiting_.front());
        waiting_.pop_front();
        ++under_way_;
        connection_->run(std::move(next.call), std::move(next.handler));
    }
}

void ManagementConnection::end_one() noexcept {
    --under_way_;
    send_soon();
}

std::optional<SocketAddress> ManagementConnection::address() const {
    return connection_ != nullptr ? connection_->address() : std::nullopt;
}

void ManagementConnection::poll() noexcept {
    if (connection_ != nullptr) {
        connection_->poll();
    }
}

void ManagementConnection::follow_addresses() noexcept {
    if (connection_ != nullptr) {
        connection_->follow_addresses();
    }
}

}  // namespace tollgate::redis
