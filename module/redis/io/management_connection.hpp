#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "module/redis/io/connection.hpp"
#include "module/redis/protocol/management_pace.hpp"

namespace tollgate::redis {

/// A second connection of a worker to a server, for calls of Lane::kManagement: no request waits
/// for them, and what they break is not the connection of the requests. It is opened with the first
/// call. Only one call is under way at a time, so that neither Redis nor the event loop has much to
/// do for them at once; more if the round trip is long, since requests notice them less then. See
/// ManagementPace for the pauses between them.
class ManagementConnection final : private ConnectionListener {
  public:
    /// See Connection for the arguments and their lifetimes. `listener` is the listener of the
    /// requests' connection. It receives only on_error, on_lost and on_refusal.
    ManagementConnection(const Access& access, const SocketAddresses& addresses,
                         std::string probe_key, ConnectionListener& listener);
    /// Closes the socket. The handlers of pending calls are destroyed; no callback follows.
    ~ManagementConnection() override;
    ManagementConnection(const ManagementConnection&) = delete;
    ManagementConnection& operator=(const ManagementConnection&) = delete;

    /// See Connection::run.
    void run(Call call, std::unique_ptr<ReplyHandler> handler) noexcept;
    /// A request is sent to the same server.
    void note_request() noexcept;
    /// See Connection::address.
    std::optional<SocketAddress> address() const;
    /// Whether no call is pending.
    bool is_idle() const noexcept { return under_way_ == 0 && waiting_.empty(); }
    /// See Connection::poll.
    void poll() noexcept;
    /// See Connection::follow_addresses.
    void follow_addresses() noexcept;

  private:
    class UnderWay;
    struct Waiting {
        Call call{};
        std::unique_ptr<ReplyHandler> handler{};
    };

    void on_answer(std::chrono::microseconds round_trip) noexcept override {
        shortest_round_trip_ = std::min(shortest_round_trip_, round_trip);
    }
    void on_error() noexcept override { listener_.on_error(); }
    void on_connected(bool /*is_first*/) noexcept override {
        shortest_round_trip_ = std::chrono::microseconds::max();
    }
    void on_lost() noexcept override { listener_.on_lost(); }
    void on_refusal(std::string_view message) noexcept override { listener_.on_refusal(message); }

    bool may_send() const noexcept;
    void send_soon() noexcept;
    void send_waiting() noexcept;
    void end_one() noexcept;

    const Access access_;
    const SocketAddresses& addresses_;
    const std::string probe_key_;
    ConnectionListener& listener_;
    /// The shortest round trip since the connection was made. Without a load, it is that of the
    /// network.
    std::chrono::microseconds shortest_round_trip_ = std::chrono::microseconds::max();
    std::size_t under_way_ = 0;
    ManagementPace pace_;
    std::deque<Waiting> waiting_;
    Event next_;
    std::unique_ptr<Connection> connection_;  ///< nullptr before the first call
};

/// Runs a call on the connection of its lane.
inline void run_in_lane(Connection& requests, ManagementConnection& management, Call call,
                        std::unique_ptr<ReplyHandler> handler) noexcept {
    if (call.lane == Lane::kManagement) {
        management.run(std::move(call), std::move(handler));
    } else {
        management.note_request();
        requests.run(std::move(call), std::move(handler));
    }
}

}  // namespace tollgate::redis
