#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "module/cli/redis/redis_connection.hpp"
#include "module/cli/redis/redis_url.hpp"
#include "module/management/acknowledgement.hpp"
#include "module/redis/topology/call_retries.hpp"
#include "module/redis/topology/key_slot.hpp"
#include "module/redis/topology/presence.hpp"

namespace tollgate::cli {

/// How long a command searches for a master, and repeats a call that no server executed: a failover
/// may be under way.
constexpr std::chrono::seconds kSearchTime{5};

/// How long a command waits for the answer of a server that tells where the masters are: a
/// Sentinel, or a node of a cluster. A gateway waits less: a command may be far away, and asks
/// rarely.
constexpr std::chrono::milliseconds kWitnessTimeout{1000};

/// How a call is sent: over this connection, and after ASKING if the slot is being imported.
struct Route {
    RedisConnection* master;
    bool asking = false;
};

using redis::Presence;

/// The slots of the keys that calls were sent for, by the master that executed them.
using SlotsByMaster = std::map<RedisConnection*, std::set<redis::Slot>>;

/// The servers of a deployment that accept writes, with a connection to each. All functions throw
/// Failure. A pointer to a connection is valid until reconnect().
class Masters {
  public:
    Masters() = default;
    Masters(const Masters&) = delete;
    Masters& operator=(const Masters&) = delete;
    virtual ~Masters() = default;

    /// The way to the master that serves the key; to any master if there is no key.
    virtual Route route(std::optional<std::string_view> key) = 0;

    /// The way to send a call again that was answered with this error reply over `asked`. Waits if
    /// that is necessary. Nothing if the error is the answer.
    virtual std::optional<Route> next_route(const Route& asked, std::optional<std::string_view> key,
                                            const std::string& error,
                                            redis::CallRetries& retries) = 0;

    /// Whether one transaction may change both keys, in any state of the deployment.
    virtual bool may_span(std::string_view key, std::string_view other) const = 0;

    /// All masters, in an order that remains the same.
    virtual std::vector<RedisConnection*> all() = 0;

    /// Who knows which servers are the masters.
    virtual management::Electors electors() const = 0;
    /// Asks the electors once whether these servers are still the masters of these slots. Nothing:
    /// they do not agree yet, ask again. `is_last` says that nobody asks again.
    virtual std::optional<Presence> ask_presence(const SlotsByMaster& used, bool is_last) = 0;

    /// Replaces all connections, and finds the masters again. Returns whether another server is the
    /// master of a key.
    virtual bool reconnect() = 0;
};

/// Connects to the deployment of the URL, whose passwords are known.
std::unique_ptr<Masters> connect_to_masters(const RedisUrl& url);

/// Connects to the Redis Cluster of the URL, whose passwords are known. Reads the slot map from one
/// of the servers of the URL. Connections to masters are made when they are needed.
std::unique_ptr<Masters> connect_to_cluster(const RedisUrl& url);

}  // namespace tollgate::cli
