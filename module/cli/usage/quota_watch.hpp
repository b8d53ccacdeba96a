#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "module/cli/redis/redis_session.hpp"
#include "module/cli/usage/stored_usage.hpp"
#include "module/redis/protocol/keys.hpp"

namespace tollgate::cli {

/// What one id did in one plan table between the last two readings.
struct ActiveQuota {
    std::string id;
    std::string table;              ///< empty: the id has strikes, and nothing counted
    double granted = 0;             ///< units a second
    bool exact = true;              ///< false: at least so many
    std::optional<double> refused;  ///< strikes a second, of the id's busiest table alone
    std::optional<Instant> banned_until;
};

/// Reads quotas and bans again and again, and works out how fast they grow. It writes nothing, and
/// a poll costs Redis a bounded amount of work however many ids there are: it looks through
/// `budget` keys (SCAN goes on where it stopped) and reads the hashes of the ids it finds there,
/// and of up to `budget` ids that it watches: the busiest of all that it has met.
class QuotaWatch {
  public:
    /// Session and keys must outlive it.
    QuotaWatch(RedisSession& session, const redis::Keys& keys, std::size_t budget);

    /// Reads once more.
    void poll();

    /// Who was granted or refused anything between the last two polls, or is banned.
    std::vector<ActiveQuota> active() const;

    Instant now() const { return now_; }  ///< Redis's clock at the last poll
    std::size_t ids() const { return ids_.size(); }
    /// Whether the last poll saw all ids there are, or a sample of them.
    bool is_complete() const { return complete_; }
    /// Of a sample: how much of Redis the present round of SCAN has looked through, 0 to 1; nothing
    /// where Redis refuses DBSIZE.
    std::optional<double> progress() const { return progress_; }

  private:
    using Clock = std::chrono::steady_clock;

    struct Quota {
        std::optional<StoredWindows> windows;  ///< as read last
        double average = 0;                    ///< over the windows that run; ranks what is new
        std::optional<double> rate;            ///< units a second, once there are two readings
        bool exact = true;
    };
    struct Id {
        std::map<std::string, Quota> tables;
        std::optional<StoredBan> ban;
        double strike_rate = 0;
        std::optional<Clock::time_point> read;

        double weight() const;
        bool is_empty() const { return tables.empty() && !ban; }
    };
    using Ids = std::unordered_map<std::string, Id>;

    void scan();
    std::optional<double> progress_now();
    void add_found(std::string_view key);
    void read(const std::vector<Ids::iterator>& batch);
    bool update(Quota& quota, const RedisReply& hash, double seconds) const;
    void update(Id& id, const std::optional<StoredBan>& ban, double seconds) const;
    void drop_least_active();

    RedisSession& session_;
    const redis::Keys& keys_;
    std::size_t budget_;
    std::string quota_prefix_;
    std::string ban_prefix_;
    Ids ids_;
    std::string cursor_ = "0";
    std::size_t scanned_ = 0;
    Instant now_;
    Clock::time_point polled_;
    bool complete_ = false;
    bool was_complete_ = false;  ///< the poll before saw all ids: one that is new was made since
    std::optional<double> progress_;
};

}  // namespace tollgate::cli
