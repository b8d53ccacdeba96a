#include "module/cli/usage/quota_watch.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "module/plan/value_digest.hpp"
#include "module/redis/protocol/redis_time.hpp"

namespace tollgate::cli {

namespace {

// The number of keys per SCAN call, and of ids per round trip. Redis serves other clients in
// between.
constexpr std::size_t kKeysPerScan = 500;
constexpr std::size_t kBatch = 200;

// Scanning a key costs Redis much less than reading a hash.
constexpr std::size_t kScannedKeysPerId = 4;

/// The most counters of an id that are watched.
constexpr std::size_t kMostCountersPerId = 100;

/// The last use in a hash of uses, whichever key of the id it is of.
std::optional<Instant> last_use_in(const redis::Value& hash) {
    std::optional<Instant> last;
    for (const auto& [digest, text] : hash.fields()) {
        if (const auto time = redis::parse_unix_time(text)) {
            last = std::max(last, std::optional<Instant>(*time));
        }
    }
    return last;
}

/// The units that were granted between two readings of a quota.
struct GrantedUnits {
    std::int64_t units = 0;
    bool exact = true;  ///< false: a lower bound, because a window ended between the readings
};

/// Computes the units that were granted between two readings of a quota. Uses the longest window
/// whose count is known in both readings. If there is none, the result is the largest count of the
/// windows that began in between. Never negative: returned units are ignored.
GrantedUnits granted_between(const management::StoredWindows& before,
                             const management::StoredWindows& after) {
    GrantedUnits least{.units = 0, .exact = true};
    auto stored = after.rbegin();
    while (stored != after.rend()) {
        const auto& [period, window] = *stored++;
        const auto earlier = before.find(period);
        if (earlier == before.end()) {
            continue;  // the plan of the key has changed
        }
        const WindowCount& now = window.counted;
        const WindowCount& then = earlier->second.counted;
        if (now.number == then.number) {
            return {.units = std::max<std::int64_t>(now.count - then.count, 0), .exact = true};
        }
        if (window.sliding && now.number == then.number + 1) {
            return {.units = now.count + std::max<std::int64_t>(now.previous - then.count, 0),
                    .exact = true};
        }
        // A window with a lower number gives no information: Redis's clock or data was changed.
        if (now.number > then.number) {
            least.units = std::max(least.units, now.count);
        }
        least.exact = false;
    }
    return least;
}

/// The largest count of all windows: the units granted so far to a quota that is new.
std::int64_t largest_count(const management::StoredWindows& windows) {
    std::int64_t units = 0;
    for (const auto& [period, window] : windows) {
        units = std::max(units, window.counted.count);
    }
    return units;
}

/// Units per second granted in the shortest current window, from its beginning until `now`. An
/// estimate for a quota that was read only once.
double average_rate(const management::StoredWindows& windows, Instant now) {
    constexpr std::chrono::days kLongestMonth{31};
    for (const auto& [period, window] : windows) {
        const auto elapsed = now - window_start(window.counted.number, period);
        const bool is_current = period.is_month()
                                    ? elapsed < kLongestMonth
                                    : window.counted.number == window_number(now, period);
        if (is_current) {
            const double seconds = std::chrono::duration<double>(elapsed).count();
            return static_cast<double>(window.counted.count) / std::max(seconds, 1.0);
        }
    }
    return 0;
}

/// Whether this counter, TABLE or TABLE:VALUE, is that of a group.
bool is_of_group(std::string_view counter) {
    return counter.ends_with(ValueDigest::of_group().suffix());
}

/// Parses the reply to HGETALL of a ban's hash. Empty if the hash does not exist.
std::optional<StoredBan> read_stored_ban(const redis::Value& hash) {
    if (hash.elements.empty()) {
        return std::nullopt;
    }
    const auto fields = hash.fields();
    return StoredBan{.strikes = redis::number_or_zero(fields[redis::ban_field::kStrikes]),
                     .since = redis::number_or_zero(fields[redis::ban_field::kSince]),
                     .level = redis::number_or_zero(fields[redis::ban_field::kLevel]),
                     .until = redis::number_or_zero(fields[redis::ban_field::kUntil])};
}

/// The strikes between two readings. A ban resets the strikes, so the result counts at least one
/// for each reading with a new ban.
std::int64_t strikes_between(const std::optional<StoredBan>& before, const StoredBan& after) {
    if (!before) {
        return std::max<std::int64_t>(after.strikes, after.level > 0 ? 1 : 0);
    }
    if (after.level > before->level) {
        return std::max<std::int64_t>(after.strikes, 1);
    }
    const auto known = after.since == before->since ? before->strikes : 0;
    return std::max<std::int64_t>(after.strikes - known, 0);
}

}  // namespace

QuotaWatch::QuotaWatch(RedisSession& session, std::size_t budget)
    : session_(session), keys_(session.keys()), budget_(budget) {
    quota_prefix_ = keys_.quota("", "");
    quota_prefix_.resize(quota_prefix_.size() - std::string_view("}:").size());
    ban_prefix_ = keys_.ban("");
    ban_prefix_.pop_back();
}

void QuotaWatch::poll() {
    was_complete_ = complete_;
    now_ = management::time_of_reply(session_.run({"TIME"}));
    scan();
    std::vector<Ids::iterator> batch;
    for (auto id = ids_.begin(); id != ids_.end(); ++id) {
        batch.push_back(id);
        if (batch.size() == kBatch) {
            read(batch);
            batch.clear();
        }
    }
    read(batch);
    polled_ = Clock::now();
    std::erase_if(ids_, [](const auto& entry) { return entry.second.is_empty(); });
    drop_least_active();
}

/// Scans the next keys and adds their ids. Sets complete_ if SCAN started and finished here.
void QuotaWatch::scan() {
    const bool from_the_start = position_.is_at_start();
    has_all_values_ = true;
    if (from_the_start) {
        scanned_ = 0;
    }
    // The pattern matches the keys of bans and quotas only, so that Redis does not send key:…
    // names.
    const auto pattern = escape_glob(session_.prefix()) + "[bq]*{*";
    const auto page = std::min(kKeysPerScan, budget_);
    std::size_t scanned = 0;
    do {
        for (const auto& key : session_.scan(position_, pattern, page)) {
            add_found(key);
        }
        scanned += page;
    } while (!position_.is_at_start() && scanned < kScannedKeysPerId * budget_);
    scanned_ += scanned;
    complete_ = from_the_start && position_.is_at_start() && has_all_values_;
    if (!complete_) {
        progress_ = scan_progress();
    }
}

/// The part of Redis scanned since SCAN began. Empty if the user may not run DBSIZE.
std::optional<double> QuotaWatch::scan_progress() {
    if (position_.is_at_start()) {
        return 1.0;
    }
    const auto size = session_.key_count();
    if (!size) {
        return std::nullopt;
    }
    const auto keys = static_cast<double>(std::max<std::int64_t>(*size, 1));
    return std::min(static_cast<double>(scanned_) / keys, 1.0);
}

/// Adds the id, and the table, that the name of a quota or ban key contains.
void QuotaWatch::add_found(std::string_view key) {
    if (key.starts_with(quota_prefix_)) {
        key.remove_prefix(quota_prefix_.size());
        const auto end = key.find(':');
        if (end == std::string_view::npos || management::owner_in(key).id.empty()) {
            return;
        }
        auto& tables = id_in(key.substr(0, end)).tables;
        std::string table(key.substr(end + 1));
        if (tables.contains(table)) {
            return;
        }
        // A table with `by=$variable` has a counter for each value: TABLE:VALUE.
        if (table.find(':') != std::string::npos && tables.size() >= kMostCountersPerId) {
            has_all_values_ = false;
            return;
        }
        tables.try_emplace(std::move(table));
    } else if (key.starts_with(ban_prefix_)) {
        key.remove_prefix(ban_prefix_.size());
        if (!management::owner_in(key).id.empty()) {
            id_in(key);
        }
    }
}

/// The entry of an id: `key` is the name of one of its keys from the hash tag on, without a table.
QuotaWatch::Id& QuotaWatch::id_in(std::string_view key) {
    Id& id = ids_[std::string(key)];
    if (id.owner.id.empty()) {
        id.owner = management::owner_in(key);
    }
    return id;
}

/// Reads the hashes of some ids in one round trip and updates their rates.
void QuotaWatch::read(const std::vector<Ids::iterator>& batch) {
    std::vector<redis::Command> commands;
    for (const auto& entry : batch) {
        commands.push_back({"HGETALL", keys_.ban(entry->second.owner.owner())});
        // Gateways refuse banned ids without Redis. The last use tells whether they still send.
        if (is_banned(entry->second)) {
            commands.push_back({"HGETALL", keys_.used(entry->second.owner.id)});
        }
        for (const auto& [table, quota] : entry->second.tables) {
            commands.push_back({"HGETALL", keys_.quota(entry->second.owner.owner(), table)});
        }
    }
    const auto replies = session_.run_all(commands);
    const auto read_at = Clock::now();
    auto reply = replies.begin();
    for (const auto& entry : batch) {
        Id& id = entry->second;
        const bool has_past = id.read || was_complete_;
        const std::chrono::duration<double> since = read_at - id.read.value_or(polled_);
        const double seconds = has_past ? since.count() : 0;
        const bool was_banned = is_banned(id);
        update(id, read_stored_ban(*reply++), seconds);
        id.last_use = was_banned ? last_use_in(*reply++) : std::nullopt;
        for (auto table = id.tables.begin(); table != id.tables.end();) {
            table = update(table->second, *reply++, seconds) ? std::next(table)
                                                             : id.tables.erase(table);
        }
        id.read = read_at;
    }
}

/// Updates a quota from its hash. Returns false if the hash is empty. `seconds` is the time since
/// the last reading, 0 if there was none.
bool QuotaWatch::update(Quota& quota, const redis::Value& hash, double seconds) const {
    // The record, which has the billing day, is not read.
    auto windows = management::read_windows(hash, BillingDay());
    quota.rate.reset();
    if (seconds > 0 && (quota.windows || was_complete_)) {
        const auto grown = quota.windows
                               ? granted_between(*quota.windows, windows)
                               : GrantedUnits{.units = largest_count(windows), .exact = true};
        quota.rate = static_cast<double>(grown.units) / seconds;
        quota.exact = grown.exact;
    }
    quota.average = average_rate(windows, now_);
    quota.windows = std::move(windows);
    return !quota.windows->empty();
}

void QuotaWatch::update(Id& id, const std::optional<StoredBan>& ban, double seconds) const {
    id.strike_rate =
        ban && seconds > 0 ? static_cast<double>(strikes_between(id.ban, *ban)) / seconds : 0;
    id.ban = ban;
}

/// The rank of an id: its rate, or the average of its current windows if it was read only once.
double QuotaWatch::Id::weight() const {
    double weight = strike_rate;
    for (const auto& [table, quota] : tables) {
        weight += quota.rate.value_or(quota.average);
    }
    return weight;
}

bool QuotaWatch::is_banned(const Id& id) const {
    return id.ban && Instant{std::chrono::milliseconds(id.ban->until)} > now_;
}

/// Removes the least active ids until `budget_` ids remain.
void QuotaWatch::drop_least_active() {
    if (ids_.size() <= budget_) {
        return;
    }
    std::vector<std::pair<double, Ids::iterator>> ranked;
    ranked.reserve(ids_.size());
    for (auto id = ids_.begin(); id != ids_.end(); ++id) {
        ranked.emplace_back(id->second.weight(), id);
    }
    const auto rest = ranked.begin() + static_cast<std::ptrdiff_t>(budget_);
    std::ranges::nth_element(ranked, rest, std::greater<>(), [](const auto& r) { return r.first; });
    std::for_each(rest, ranked.end(), [this](const auto& r) { ids_.erase(r.second); });
    complete_ = false;
}

std::vector<ActiveQuota> QuotaWatch::active() const {
    std::vector<ActiveQuota> active;
    for (const auto& entry : ids_) {
        const auto& id = entry.second;
        const std::string& name = id.owner.id;
        const auto add = [&](bool of_group) {
            for (const auto& [table, quota] : id.tables) {
                if (quota.rate && is_of_group(table) == of_group) {
                    active.push_back({.id = name,
                                      .table = table,
                                      .granted = *quota.rate,
                                      .exact = quota.exact,
                                      .refused = std::nullopt,
                                      .banned_until = std::nullopt,
                                      .last_use = std::nullopt,
                                      .is_of_group = of_group});
                }
            }
        };
        add(true);
        const auto first = active.size();
        add(false);
        if (id.ban) {
            if (first == active.size()) {
                active.push_back(
                    {.id = name, .table = "", .refused = {}, .banned_until = {}, .last_use = {}});
            }
            // A refusal belongs to the id and not to a table: show it on the line of the busiest
            // table.
            ActiveQuota& busiest = *std::max_element(
                active.begin() + static_cast<std::ptrdiff_t>(first), active.end(),
                [](const auto& a, const auto& b) { return a.granted < b.granted; });
            if (is_banned(id)) {
                busiest.banned_until = Instant{std::chrono::milliseconds(id.ban->until)};
                busiest.last_use = id.last_use;
            }
            if (id.strike_rate > 0 || !is_banned(id)) {
                busiest.refused = id.strike_rate;
            }
        }
    }
    std::erase_if(active, [](const ActiveQuota& quota) {
        return quota.granted == 0 && quota.refused.value_or(0) == 0 && !quota.banned_until;
    });
    return active;
}

}  // namespace tollgate::cli
