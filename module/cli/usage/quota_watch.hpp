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
#include "module/management/group_index.hpp"
#include "module/management/stored_windows.hpp"

namespace tollgate::cli {

/// The activity of one id in one plan table between the last two polls.
struct ActiveQuota {
    std::string id;
    std::string table;   ///< empty: the id has strikes, but no counts
    double granted = 0;  ///< units per second
    bool exact = true;   ///< false: `granted` is a lower bound
    /// Strikes per second. Set for the id's busiest table only, and not during a ban, in which
    /// refusals are no strikes.
    std::optional<double> refused;
    std::optional<Instant> banned_until;
    std::optional<Instant> last_use;  ///< of a banned id, to the minute, if it is known
    bool is_of_group = false;         ///< `id` is a group, which may have the name of an id
};

/// The hash of an id's ban. Times are Unix times in milliseconds.
struct StoredBan {
    std::int64_t strikes = 0;
    std::int64_t since = 0;  ///< time of the first strike
    std::int64_t level = 0;
    std::int64_t until = 0;  ///< end of the last ban
};

/// Polls quotas and bans in Redis and computes rates from the differences. It writes nothing. The
/// cost of a poll is bounded: it scans up to 4 * `budget` keys (SCAN continues where the last poll
/// stopped), and reads the hashes of the ids found there and of up to `budget` watched ids. It
/// watches the busiest ids found so far.
class QuotaWatch {
  public:
    /// `session` must outlive the object. `budget` is a number of ids.
    QuotaWatch(RedisSession& session, std::size_t budget);

    /// Reads Redis once. Throws Failure.
    void poll();

    /// The quotas of ids that were granted or refused units between the last two polls, or that
    /// are banned.
    std::vector<ActiveQuota> active() const;

    /// Redis's clock at the last poll.
    Instant now() const { return now_; }
    /// The number of watched ids.
    std::size_t ids() const { return ids_.size(); }
    /// Whether the last poll read all ids in Redis. If not, it read a sample.
    bool is_complete() const { return complete_; }
    /// The part of Redis that the current iteration of SCAN has covered, 0 to 1. Empty if the last
    /// poll was complete, or if Redis refuses DBSIZE.
    std::optional<double> progress() const { return progress_; }

  private:
    using Clock = std::chrono::steady_clock;

    struct Quota {
        std::optional<management::StoredWindows> windows;  ///< as of the last poll
        double average = 0;          ///< units per second in the current windows; ranks new ids
        std::optional<double> rate;  ///< units per second; empty until the second poll
        bool exact = true;
    };
    struct Id {
        management::OwnerName owner;
        std::map<std::string, Quota> tables;
        std::optional<StoredBan> ban;
        double strike_rate = 0;
        std::optional<Instant> last_use;  ///< read only if the id is banned
        std::optional<Clock::time_point> read;

        double weight() const;
        bool is_empty() const { return tables.empty() && !ban; }
    };
    /// By the id; that of a group is behind the group and a `}`, as in the names of keys.
    using Ids = std::unordered_map<std::string, Id>;

    Id& id_in(std::string_view key);

    void scan();
    std::optional<double> scan_progress();
    void add_found(std::string_view key);
    void read(const std::vector<Ids::iterator>& batch);
    bool update(Quota& quota, const redis::Value& hash, double seconds) const;
    void update(Id& id, const std::optional<StoredBan>& ban, double seconds) const;
    bool is_banned(const Id& id) const;
    void drop_least_active();

    RedisSession& session_;
    const redis::Keys& keys_;
    std::size_t budget_;
    std::string quota_prefix_;
    std::string ban_prefix_;
    Ids ids_;
    RedisSession::ScanPosition position_;
    std::size_t scanned_ = 0;  ///< keys, since SCAN began
    Instant now_;
    Clock::time_point polled_;
    bool has_all_values_ = true;  ///< false: an id has more values than are watched
    bool complete_ = false;
    bool was_complete_ = false;  ///< the previous poll was complete: an unknown id is a new one
    std::optional<double> progress_;
};

}  // namespace tollgate::cli
