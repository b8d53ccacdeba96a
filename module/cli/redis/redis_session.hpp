#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "module/cli/redis/masters.hpp"
#include "module/cli/redis/redis_url.hpp"
#include "module/management/database.hpp"
#include "module/redis/protocol/schema.hpp"

namespace tollgate::cli {

/// The commands of one program run, sent to the masters of a Redis deployment. A call that no
/// server executed (MOVED, ASK, TRYAGAIN, CLUSTERDOWN, LOADING) is sent again to the right master
/// of a cluster for up to kSearchTime. All functions throw Failure with ExitStatus::kRedis if a
/// connection fails, if a server does not reply within 5 seconds, or if the reply is an error. It
/// is then unknown whether the command was executed, and the next call replaces the connections.
/// The functions of Database block: every task runs to its end when it is started.
class RedisSession final : public management::Database {
  public:
    /// Connects to the deployment of the URL, whose passwords are known.
    RedisSession(const RedisUrl& url, std::string prefix)
        : masters_(connect_to_masters(url)), prefix_(std::move(prefix)), keys_(prefix_) {}

    const std::string& prefix() const { return prefix_; }  ///< of all keys
    const redis::Keys& keys() const { return keys_; }

    void execute(std::vector<management::Transaction> transactions, Done done) override;
    void wait(std::chrono::milliseconds time, Done done) override;
    bool may_span(std::string_view key, std::string_view other) const override {
        return masters_->may_span(key, other);
    }
    /// Waits until a replica of each master that this session has used has the changes, up to one
    /// second for each master. Then asks the Sentinels, or the cluster, whether these servers are
    /// still the masters, and connects to the new ones otherwise.
    management::Task<management::Durability> acknowledge() override;

    /// Replaces the connections with new ones. If another server is the master now, the changes
    /// since the last acknowledgement may be undone.
    void reconnect();

    /// Sends one command to the master of its key, and waits for the reply. A command without a
    /// key goes to any master.
    redis::Value run(const redis::Command& command);

    /// Sends one command that only reads to the master of its key, and waits for the reply. The
    /// reply must decide no change: acknowledge() does not depend on it. Empty if the reply is an
    /// error.
    std::optional<redis::Value> run_if_accepted(const redis::Command& command);

    /// Sends all commands and waits for all replies: one pipeline for each master. The replies are
    /// in the order of the commands. A command without a key goes to the master of the first key.
    std::vector<redis::Value> run_all(std::span<const redis::Command> commands);
    /// Sends all commands as run_all() does. A reply that is an error, such as WRONGTYPE, is one of
    /// the values that are returned.
    std::vector<redis::Value> answers_to(std::span<const redis::Command> commands);

    /// The number of keys of all masters. Empty if the user may not run DBSIZE.
    std::optional<std::int64_t> key_count();

    /// The replies of all masters to a command, by the address of the master. An error is a reply.
    std::map<std::string, redis::Value> ask_masters(const redis::Command& command);

    /// Those to INFO, without masters that the user may not ask.
    std::map<std::string, std::string> info();

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

    /// The position at the first key of the master that follows.
    ScanPosition next_master(const ScanPosition& position);

  private:
    class UsedMasters;
    enum class Use { kNoted, kNotNoted };
    template <typename Ask>
    auto exchange(const Ask& ask);
    redis::Value send(std::optional<std::string_view> key, const redis::Command& command,
                      Use use = Use::kNoted);
    std::vector<management::Replies> execute_all(
        const std::vector<management::Transaction>& transactions);
    std::vector<std::vector<redis::Value>> call(std::span<const management::ScriptCall> calls);
    void note_use(const Route& route, std::optional<std::string_view> key);

    std::unique_ptr<Masters> masters_;
    std::string prefix_;
    redis::Keys keys_;
    SlotsByMaster used_;      ///< since the last acknowledgement that confirmed all
    bool has_moved_ = false;  ///< to another master, since the last acknowledgement
    bool is_in_step_ = true;  ///< no reply to an earlier call is outstanding
};

/// Escapes the special characters of a glob pattern of Redis (SCAN … MATCH).
std::string escape_glob(std::string_view text);

}  // namespace tollgate::cli
