#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "module/http/redis/cluster_client.hpp"
#include "module/redis/io/connection.hpp"
#include "module/redis/io/connection_listener.hpp"
#include "module/redis/io/management_connection.hpp"
#include "module/redis/io/resolved_servers.hpp"

namespace tollgate::http {

/// The connections of a worker to one server of a cluster.
class ClusterClient::Server final : public redis::ClusterServer,
                                    private redis::AddressListener,
                                    private redis::ConnectionListener {
  public:
    /// See redis::ClusterServers::connect.
    Server(ClusterClient& client, const redis::ServerAddress& address, redis::Slot slot);
    ~Server() override;
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    bool is_reachable() const noexcept override { return connection_.is_reachable(); }
    void run(redis::Call call, std::unique_ptr<redis::ReplyHandler> handler) noexcept override {
        run_in_lane(connection_, management_, std::move(call), std::move(handler));
    }
    void report_failure(std::string_view error) noexcept override {
        connection_.report_failure(error);
    }
    std::uint32_t name() const noexcept override { return name_; }
    bool is_idle() const noexcept override {
        return connection_.is_idle() && management_.is_idle();
    }
    void poll() noexcept {
        connection_.poll();
        management_.poll();
    }
    const redis::ServerAddress& address() const noexcept { return address_; }
    const redis::SocketAddresses& addresses() const noexcept { return addresses_.list(); }
    bool is_breaker_open() const noexcept { return connection_.is_breaker_open(); }

  private:
    RedisStatistics& statistics() const { return client_.engine_.statistics(); }

    void on_addresses() noexcept override;
    void on_answer(std::chrono::microseconds round_trip) noexcept override {
        statistics().round_trips.note(round_trip);
    }
    void on_error() noexcept override { statistics()["errors"].add(); }
    void on_connected(bool is_first) noexcept override;
    void on_lost() noexcept override { addresses_.resolve_now(); }
    void on_refusal(std::string_view /*message*/) noexcept override { addresses_.resolve_now(); }
    void on_time(ExactSteadyTime sent, ExactSteadyTime received,
                 ExactInstant time) noexcept override {
        client_.engine_.zone().restart_clock(name_, sent, received, time);
    }
    void on_breaker_open(std::string_view reason) noexcept override;
    void on_breaker_close() noexcept override;
    bool set_unreachable(bool is_unreachable);

    ClusterClient& client_;
    const redis::ServerAddress address_;
    const std::string text_;
    const std::uint32_t name_;
    redis::ResolvedServers addresses_;  ///< of this one
    redis::ManagementConnection management_;
    redis::Connection connection_;  ///< its constructor may connect, and then runs calls
};

}  // namespace tollgate::http
