#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>

#include "module/redis/io/event.hpp"
#include "module/redis/io/name_resolution.hpp"
#include "module/redis/io/query.hpp"
#include "module/redis/io/resolved_servers.hpp"
#include "module/redis/io/sentinel_watch.hpp"
#include "module/redis/io/subscription.hpp"
#include "module/redis/protocol/interface.hpp"
#include "module/redis/protocol/log_throttle.hpp"
#include "module/redis/topology/sentinel_search.hpp"
#include "module/redis/topology/shared_master.hpp"

namespace tollgate::redis {

/// A worker that uses the master of a Sentinel group.
class SentinelClient : public Interface {
  public:
    /// Calls a function with what the workers share about the master, while no other one uses it.
    virtual void with_shared_master(const std::function<void(SharedMaster&)>& use) const = 0;
    /// SentinelDirectory::addresses() has changed: another master, or another address of its name.
    /// Called from the event loop only, never from a function that the client called.
    virtual void on_master() noexcept = 0;
    /// This worker has found another master than the one that was known.
    virtual void on_failover() noexcept = 0;
};

/// The master of a Sentinel group, as a worker knows it. One worker of the node at a time searches
/// for the master, and all workers read the result from the SharedMaster. The worker that watches
/// also subscribes to `+switch-master` at two Sentinels, and searches every 10 s, because a message
/// may be lost. After a message, no worker of the node uses the deposed master for 10 s.
///
/// Names of Sentinels, and the name of a master that is reported by its host name, are resolved at
/// run time. Timers do not keep a worker alive that shuts down.
class SentinelDirectory : private QueryOwner, private MessageListener, private AddressListener {
  public:
    /// Takes the address that the workers know, and starts to search. `sentinels` is for the
    /// servers of the group, `master` for the master. What the arguments refer to must outlive the
    /// directory. `watches` is true in one worker of the node.
    SentinelDirectory(const SentinelGroup& group, const Access& sentinels, const Access& master,
                      bool watches, SentinelClient& client);
    ~SentinelDirectory() override;
    SentinelDirectory(const SentinelDirectory&) = delete;
    SentinelDirectory& operator=(const SentinelDirectory&) = delete;

    /// The addresses of the master: one, or those of its name. Empty until they are known.
    const SocketAddresses& addresses() const noexcept { return addresses_; }

    /// The master, as the Sentinels report it. It may be newer than addresses(), while its name
    /// is resolved: then that has none of its addresses.
    const std::optional<ServerAddress>& name() const noexcept { return reported_; }
    /// The Sentinels. Empty until their names are resolved.
    const SocketAddresses& sentinels() const noexcept { return asked_; }

    /// The master may be another server: its connection was lost or could not be established, or it
    /// refuses commands. May be called from any callback.
    void search() noexcept;

  private:
    using Clock = std::chrono::steady_clock;
    using Time = Clock::time_point;

    void on_reply(const redisReply& reply) noexcept override;
    void on_no_reply(std::string_view reason) noexcept override;
    void on_message(std::string_view text) noexcept override;
    void on_subscribed(bool /*is_subscribed*/) noexcept override {}

    void on_addresses() noexcept override { event_.post(); }
    AddressListener& addresses_changed() noexcept { return *this; }

    void proceed() noexcept;
    void follow_sentinels();
    bool read_shared();
    std::uint32_t searches() const;
    void want_search();
    void begin_search(Time now);
    void take_step(Time now);
    bool keep_search(Time now, Time step_end) noexcept;
    void ask(const SentinelSearch::Ask& step, Time now);
    void confirm(const ServerAddress& master, Time now);
    void use_candidate(Time now);
    void ask_role(SocketAddresses addresses, Time now);
    void end_search(const ServerAddress& master);
    void note_failure(std::string_view server, std::string_view reason) noexcept;
    void log_failures() noexcept;
    void schedule(Time now) noexcept;
    double random() noexcept;

    /// Calls a function with the SharedMaster, and returns its result.
    template <typename Use>
    auto shared(Use use) const {
        std::invoke_result_t<Use&, SharedMaster&> result{};
        const auto keep = [&](SharedMaster& master) { result = use(master); };
        client_.with_shared_master(std::ref(keep));
        return result;
    }

    const SentinelGroup& group_;
    const Access to_sentinels_;
    const Access to_master_;
    SentinelClient& client_;
    ngx_log_t* log_;
    const bool watches_;
    const std::string owner_;  ///< for the log
    ResolvedServers sentinels_;
    SocketAddresses asked_;                        ///< the Sentinels of search_, by their indexes
    std::optional<ServerAddress> reported_;        ///< the master, as the workers know it
    std::unique_ptr<ResolvedServers> resolution_;  ///< of reported_
    SocketAddresses addresses_;
    SentinelSearch search_;
    std::minstd_rand random_;
    std::unique_ptr<Query> query_;               ///< of the current step
    std::unique_ptr<NameResolution> candidate_;  ///< the master that the search confirms
    SentinelWatch watch_;                     ///< without subscriptions unless this worker watches
    std::uint32_t generation_ = 0;            ///< of reported_
    std::uint32_t searches_ = 0;              ///< the number of searches when one was wanted
    bool is_wanted_ = false;                  ///< a search, by this worker or another one
    bool is_searching_ = false;               ///< this worker
    bool is_step_new_ = false;                ///< the step of search_ has not been taken
    std::optional<SwitchedMaster> switched_;  ///< a message of `+switch-master`, without the name
    Time poll_at_{};                          ///< the next search of the worker that watches
    LogText failures_;                        ///< of this search since the last log line
    LogThrottle failure_lines_;
    Event timer_;
    Event event_;
};

}  // namespace tollgate::redis
