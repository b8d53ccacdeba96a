#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "module/redis/topology/cluster_router.hpp"
#include "module/redis/topology/transport.hpp"
#include "t/unit/engine/simulated_cluster.hpp"
#include "t/unit/engine/simulated_transport.hpp"

namespace tollgate::engine {

/// A worker's connections to a simulated cluster, behind the module's own ClusterRouter.
class SimulatedClusterServers final : private redis::ClusterServers {
  public:
    /// `prepare` is called with each new connection and its server. `redirections` counts those
    /// that the router follows. All arguments must outlive it.
    using Prepare = std::function<void(SimulatedTransport&, SimulatedServer&)>;
    SimulatedClusterServers(Timeline& timeline, SimulatedCluster& cluster, Instant start,
                            const RedisSettings& settings, const Environment& environment,
                            Prepare prepare, int& redirections)
        : timeline_(timeline),
          cluster_(cluster),
          start_(start),
          prepare_(std::move(prepare)),
          redirections_(redirections),
          router_(settings.name_hash, settings.timeout, *this, environment, 1) {}
    ~SimulatedClusterServers() override { *is_alive_ = false; }
    SimulatedClusterServers(const SimulatedClusterServers&) = delete;
    SimulatedClusterServers& operator=(const SimulatedClusterServers&) = delete;

    redis::Transport& router() { return router_; }

  private:
    class Server final : public redis::ClusterServer {
      public:
        Server(SimulatedClusterServers& of, SimulatedServer& server)
            : name_(server.address.port),
              transport_(of.timeline_, server.redis, of.start_, server.clock) {
            transport_.error_of = [&cluster = of.cluster_, &server](const redis::Call& call) {
                return cluster.error_of(server, call);
            };
            of.prepare_(transport_, server);
        }
        bool is_reachable() const noexcept override { return transport_.is_reachable(0); }
        void run(redis::Call call, std::unique_ptr<redis::ReplyHandler> handler) noexcept override {
            transport_.run(0, std::move(call), std::move(handler));
        }
        void report_failure(std::string_view error) noexcept override {
            transport_.report_failure(0, error);
        }
        std::uint32_t name() const noexcept override { return name_; }
        bool is_idle() const noexcept override { return transport_.is_idle(); }

      private:
        std::uint32_t name_;
        SimulatedTransport transport_;
    };

    std::vector<redis::ServerAddress> configured() const override {
        return {cluster_.servers.front().address};
    }
    std::unique_ptr<redis::ClusterServer> connect(const redis::ServerAddress& address,
                                                  redis::Slot /*slot*/) override {
        return std::make_unique<Server>(*this, cluster_.server_at(address));
    }
    void read_slot_map(const redis::ServerAddress& /*address*/,
                       redis::SlotMapReader& reader) override {
        const int number = ++map_reads_;
        timeline_.at(timeline_.now() + std::chrono::milliseconds(5),
                     [=, this, &reader, alive = is_alive_] {
                         if (*alive && number == map_reads_) {
                             reader.on_slot_map(cluster_.map());
                         }
                     });
    }
    void on_masters(std::span<const redis::ServerAddress> /*masters*/) noexcept override {}
    void on_redirection() noexcept override { ++redirections_; }

    Timeline& timeline_;
    SimulatedCluster& cluster_;
    Instant start_;
    Prepare prepare_;
    int& redirections_;
    int map_reads_ = 0;
    std::shared_ptr<bool> is_alive_ = std::make_shared<bool>(true);
    redis::ClusterRouter router_;
};

}  // namespace tollgate::engine
