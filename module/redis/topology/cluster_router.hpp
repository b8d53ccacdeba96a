#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string_view>
#include <vector>

#include "module/process/environment.hpp"
#include "module/redis/protocol/interface.hpp"
#include "module/redis/protocol/pipeline.hpp"
#include "module/redis/topology/call_retries.hpp"
#include "module/redis/topology/redirection.hpp"
#include "module/redis/topology/refresh_schedule.hpp"
#include "module/redis/topology/slot_map.hpp"
#include "module/redis/topology/transport.hpp"

namespace tollgate::redis {

/// The connections to one server of a cluster, behind circuit breakers.
class ClusterServer : public Interface {
  public:
    /// Whether calls may be sent to the server: see Transport::is_reachable.
    virtual bool is_reachable() const noexcept = 0;
    /// Calls a script on the server: see Transport::run.
    virtual void run(Call call, std::unique_ptr<ReplyHandler> handler) noexcept = 0;
    /// The server answered with this error: see Transport::report_failure.
    virtual void report_failure(std::string_view error) noexcept = 0;
    /// The name of the server in the zone: see Transport::master_name.
    virtual std::uint32_t name() const noexcept = 0;
    /// Whether no call is pending.
    virtual bool is_idle() const noexcept = 0;
};

/// Receives the slot map.
class SlotMapReader : public Interface {
  public:
    /// The asked server answered.
    virtual void on_slot_map(SlotMap map) noexcept = 0;
    /// It did not, or its reply is not usable.
    virtual void on_no_slot_map() noexcept = 0;
};

/// Connects to the servers of a cluster.
class ClusterServers : public Interface {
  public:
    /// The servers of the configuration. Empty while their names are not resolved.
    virtual std::vector<ServerAddress> configured() const = 0;
    /// Begins to connect to the server, which has this slot. May call functions of the router.
    /// Throws std::bad_alloc.
    virtual std::unique_ptr<ClusterServer> connect(const ServerAddress& address, Slot slot) = 0;
    /// Asks a server for CLUSTER SLOTS. One function of `reader` is called, once, and not before
    /// this returns; none if this throws. Another call cancels this one.
    virtual void read_slot_map(const ServerAddress& address, SlotMapReader& reader) = 0;
    /// The masters of the new map, for the subscription.
    virtual void on_masters(std::span<const ServerAddress> masters) noexcept = 0;
    /// A call was redirected.
    virtual void on_redirection() noexcept = 0;
};

/// Sends calls to the masters of a Redis Cluster. It keeps the slot map current, follows
/// redirections, and sends a call again that no server executed. A call that may have been executed
/// is never sent again. (Redis cluster specification; CallRetries, RefreshSchedule)
class ClusterRouter final : public Transport, private SlotMapReader {
  public:
    /// Asks for the map at once. `name` is that of the Redis in the zone; a call waits for a map or
    /// a new master for at most `timeout`. The servers must outlive it. Throws std::bad_alloc.
    ClusterRouter(std::uint32_t name, std::chrono::milliseconds timeout, ClusterServers& servers,
                  const Environment& environment, std::uint32_t seed);
    /// Pending handlers are destroyed without a call.
    ~ClusterRouter() override;
    ClusterRouter(const ClusterRouter&) = delete;
    ClusterRouter& operator=(const ClusterRouter&) = delete;

    /// Before the first map, calls wait for it.
    bool is_reachable(Slot slot) const noexcept override;
    void run(Slot slot, Call call, std::unique_ptr<ReplyHandler> handler) noexcept override;
    void report_failure(Slot slot, std::string_view error) noexcept override;
    std::uint32_t master_name(Slot slot) const noexcept override;

    /// ClusterServers::configured() has changed. While there is no map, asks these servers.
    void servers_changed() noexcept;
    /// Reads the map again as soon as RefreshSchedule permits.
    void request_refresh() noexcept;

    const SlotMap& map() const { return map_; }
    /// The time since the map was read; nothing before the first one.
    std::optional<std::chrono::microseconds> map_age() const;

  private:
    using Time = CallRetries::Time;
    class Attempt;

    /// A call, until its handler is called.
    struct RoutedCall {
        Slot slot;
        Call call;
        std::unique_ptr<ReplyHandler> handler;
        CallRetries retries;
    };
    /// A call that is sent at a time, or earlier, when a new map arrives.
    struct Waiting {
        RoutedCall routed;
        Time at;
        bool awaits_map;
        bool is_last;  ///< at that time it fails
    };

    void on_slot_map(SlotMap map) noexcept override;
    void on_no_slot_map() noexcept override;

    Time now() const noexcept { return Time(environment_.clock.steady()); }
    double random() { return std::uniform_real_distribution<>()(random_); }
    ClusterServer* master_of(Slot slot) const noexcept;
    ClusterServer& server(const ServerAddress& address, Slot slot);
    void send(RoutedCall routed) noexcept;
    void send_to(ClusterServer& server, RoutedCall routed) noexcept;
    void retry(RoutedCall routed, std::string_view error) noexcept;
    std::optional<Redirection> read_redirection(Slot slot, std::string_view error) noexcept;
    void redirect(RoutedCall routed, ErrorAction action, const Redirection& redirection) noexcept;
    void wait(Waiting waiting) noexcept;
    void send_waiting(bool has_new_map) noexcept;
    void refresh() noexcept;
    void ask_next() noexcept;
    bool has_unreachable_master() const noexcept;
    void on_timer() noexcept;
    void schedule() noexcept;

    std::uint32_t name_;
    std::chrono::milliseconds timeout_;
    ClusterServers& servers_;
    Environment environment_;
    std::minstd_rand random_;
    SlotMap map_;
    bool has_map_ = false;
    Time read_at_{};                       ///< when the map was read
    bool has_failed_ = false;              ///< no server gave a map at the last refresh
    std::vector<ClusterServer*> masters_;  ///< by the indexes of the map; nullptr without slots
    std::map<ServerAddress, std::unique_ptr<ClusterServer>> connected_;
    RefreshSchedule schedule_;
    std::vector<ServerAddress> unasked_;  ///< servers that this refresh may still ask
    std::vector<Waiting> waiting_;
    Time first_waiting_ = Time::max();  ///< the earliest `at` of these
    std::unique_ptr<Timer> timer_;
};

}  // namespace tollgate::redis
