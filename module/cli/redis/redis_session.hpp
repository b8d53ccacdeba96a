#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "module/cli/redis/masters.hpp"
#include "module/cli/redis/redis_reply.hpp"
#include "module/cli/redis/redis_url.hpp"
#include "module/redis/topology/call_retries.hpp"

namespace tollgate::cli {

/// Whether replicas have the changes of a session.
enum class Replication {
    kConfirmed,    ///< each changed master has no replica, or one that confirmed the changes
    kUnconfirmed,  ///< a changed master has replicas, and none confirmed the changes in time
    kForbidden     ///< the user may not call ROLE or WAIT
};

/// The commands of one program run, sent to the masters of a Redis deployment. A call that no
/// server executed (MOVED, ASK, TRYAGAIN, CLUSTERDOWN, LOADING) is sent again to the right master
/// of a cluster for up to kPatience. All functions throw Failure with ExitStatus::kRedis if a
/// connection fails, if a server does not reply within 5 seconds, or if the reply is an error. It
/// is then unknown whether the command was executed.
class RedisSession {
  public:
    /// Connects to the deployment of the URL, whose passwords are known.
    explicit RedisSession(const RedisUrl& url) : masters_(connect_to_masters(url)) {}

    /// Replaces the connections with new ones.
    void reconnect();

    /// Sends one command to the master of its key, and waits for the reply. A command without a
    /// key goes to any master.
    RedisReply run(const RedisCommand& command);

    /// The same. Empty if the reply is an error.
    std::optional<RedisReply> run_if_accepted(const RedisCommand& command);

    /// Sends all commands and waits for all replies: one pipeline for each master. The replies are
    /// in the order of the commands. A command without a key goes to the master of the first key.
    std::vector<RedisReply> run_all(std::span<const RedisCommand> commands);

    /// The clock of the master that serves the key.
    Instant time(const std::string& key);

    /// The number of keys of all masters. Empty if the user may not run DBSIZE.
    std::optional<std::int64_t> key_count();

    /// Watches a key: the next run_atomically() fails if the key changes before it. One key can be
    /// watched at a time.
    void watch(const std::string& key);
    void unwatch();

    /// Runs the commands between MULTI and EXEC, on the master of the first one's key. Each two of
    /// their keys must satisfy may_span(). Empty if the watched key has changed, or may have: watch
    /// it again. Ends the watch.
    std::optional<std::vector<RedisReply>> run_atomically(std::vector<RedisCommand> commands);

    /// Whether one transaction may change both keys.
    bool may_span(std::string_view key, std::string_view other) const {
        return masters_->may_span(key, other);
    }

    /// Where an iteration of SCAN over all masters is.
    struct ScanPosition {
        std::string master = {};  ///< its address
        std::string cursor = "0";

        /// Whether an iteration is about to begin, or has ended.
        bool is_at_start() const { return master.empty() && cursor == "0"; }
        bool operator==(const ScanPosition&) const = default;
    };

    /// The next keys of SCAN with a pattern, about `count` of them, and advances the position. A
    /// key may be returned twice.
    std::vector<std::string> scan(ScanPosition& position, const std::string& pattern,
                                  std::size_t count);

    /// Waits until a replica of each master that this session changed by run_atomically() has the
    /// changes, up to one second for each master.
    Replication await_replicas();

  private:
    struct Answer {
        Route route;
        std::vector<RedisReply> replies;
    };

    Answer send(std::optional<std::string_view> key, std::span<const RedisCommand> commands);
    std::optional<std::vector<RedisReply>> run_watched(const std::vector<RedisCommand>& commands);

    struct Watch {
        Route route;
        std::string key;
    };

    std::unique_ptr<Masters> masters_;
    std::optional<Watch> watch_;
    /// Of transactions that were not executed, since the last one that was.
    std::optional<redis::CallRetries> watch_retries_;
    std::set<RedisConnection*> changed_;  ///< by run_atomically(), since await_replicas()
};

}  // namespace tollgate::cli
