#include "module/cli/redis/deployment_warnings.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "module/cli/failure.hpp"
#include "module/cli/redis/replay.hpp"
#include "module/cli/terminal/output.hpp"
#include "module/management/plan_rules.hpp"
#include "module/text/whole_number.hpp"

namespace tollgate::cli {

namespace {

using InfoFields = std::map<std::string_view, std::string_view>;

/// The lines `NAME:VALUE` of a reply to INFO.
InfoFields fields_of(std::string_view info) {
    InfoFields fields;
    while (!info.empty()) {
        const auto line = info.substr(0, info.find("\r\n"));
        const auto name = line.substr(0, line.find(':'));
        fields.emplace(name, line.substr(std::min(name.size() + 1, line.size())));
        info.remove_prefix(std::min(line.size() + 2, info.size()));
    }
    return fields;
}

std::string_view info_field(const InfoFields& fields, std::string_view name) {
    const auto found = fields.find(name);
    return found == fields.end() ? std::string_view() : found->second;
}

std::int64_t info_number(const InfoFields& fields, std::string_view name) {
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    return parse_whole_number(info_field(fields, name), 0, kMost).value_or(0);
}

/// Whether the last snapshot contains the data of at least five minutes ago. When a server starts,
/// it notes the time as that of its last snapshot.
bool has_recent_snapshot(const InfoFields& fields) {
    constexpr std::int64_t kRecent = 300;
    constexpr std::int64_t kMicroseconds = 1'000'000;
    const auto now = info_number(fields, "server_time_usec") / kMicroseconds;
    const auto saved = info_number(fields, "rdb_last_save_time");
    const auto started = now - info_number(fields, "uptime_in_seconds");
    return info_field(fields, "rdb_last_bgsave_status") == "ok" && saved > started + 1 &&
           now - saved <= kRecent;
}

constexpr std::size_t kMostPrefixes = 3;

bool has_tables(RedisSession& session, const std::string& key) {
    // The key may belong to another program, or this user may not read it.
    const auto hash = session.run_if_accepted({"HGETALL", key});
    return hash && !management::tables_in(*hash).empty();
}

/// Adds the prefixes of the tables among the first keys of a master, and moves to the next one.
void search_master(RedisSession& session, RedisSession::ScanPosition& position,
                   std::set<std::string>& found) {
    constexpr std::size_t kPages = 10;
    constexpr std::size_t kKeysPerPage = 1000;
    const std::string name = redis::Keys("").plans();
    for (std::size_t page = 0; page < kPages; ++page) {
        for (const auto& key : session.scan(position, "*" + name, kKeysPerPage)) {
            if (found.size() < kMostPrefixes && has_tables(session, key)) {
                found.insert(key.substr(0, key.size() - name.size()));
            }
        }
        if (position.cursor == "0") {
            return;
        }
    }
    position = session.next_master(position);
}

/// Prefixes with plan tables, at most kMostPrefixes: this one without or with a colon at its end,
/// otherwise any.
std::set<std::string> prefixes_with_tables(RedisSession& session) {
    const auto& prefix = session.prefix();
    const auto similar = prefix.ends_with(':') ? prefix.substr(0, prefix.size() - 1) : prefix + ":";
    if (has_tables(session, redis::Keys(similar).plans())) {
        return {similar};
    }
    std::set<std::string> found;
    RedisSession::ScanPosition position;
    do {
        search_master(session, position, found);
    } while (!position.is_at_start());
    return found;
}

/// That the prefix is probably wrong, with what to do. Empty if it is not, or cannot be checked.
std::string wrong_prefix_text(RedisSession& session) {
    try {
        const auto published = session.run_if_accepted({"EXISTS", session.keys().plans()});
        // A user that may not read this key knows nothing about it.
        if (!published || published->integer != 0) {
            return {};
        }
        const auto found = prefixes_with_tables(session);
        return found.empty()
                   ? std::string()
                   : "no gateway has published plan tables with the prefix \"" + session.prefix() +
                         "\", but plan tables exist with " +
                         management::quoted_list({found.begin(), found.end()}) +
                         ": set --prefix (or TOLLGATE_PREFIX) to the prefix of tollgate_redis";
    } catch (const Failure&) {
        return {};
    }
}

}  // namespace

std::vector<Danger> dangers_in(std::string_view info) {
    const auto fields = fields_of(info);
    std::vector<Danger> dangers;
    if (info_field(fields, "aof_enabled") == "0" &&
        info_field(fields, "rdb_changes_since_last_save") != "0" && !has_recent_snapshot(fields)) {
        dangers.push_back(
            {"persistence",
             "loses keys when it ends: appendonly is off, and it has written no snapshot within "
             "the last 5 minutes: set appendonly yes"});
    }
    const auto policy = info_field(fields, "maxmemory_policy");
    if (!policy.empty() && policy != "noeviction" && info_number(fields, "maxmemory") > 0) {
        dangers.push_back(
            {"eviction", "evicts keys or counts when its memory is full: maxmemory-policy is " +
                             std::string(policy) + ": set maxmemory-policy noeviction"});
    }
    return dangers;
}

bool appends_changes(std::string_view info) {
    return info_field(fields_of(info), "aof_enabled") == "1";
}

bool has_refused_commands(std::string_view info) {
    return appends_changes(info) && !info_field(fields_of(info), "errorstat_NOPERM").empty();
}

std::string old_version_in(std::string_view info) {
    constexpr std::pair<std::int64_t, std::int64_t> kOldest{6, 2};
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    const auto fields = fields_of(info);
    const auto version = info_field(fields, "redis_version");
    const auto dot = version.find('.');
    if (dot == std::string_view::npos) {
        return {};
    }
    const auto after = version.substr(dot + 1);
    const auto major = parse_whole_number(version.substr(0, dot), 0, kMost);
    const auto minor = parse_whole_number(after.substr(0, after.find('.')), 0, kMost);
    return major && minor && std::pair(*major, *minor) < kOldest ? std::string(version) : "";
}

std::chrono::milliseconds time_in(std::string_view info) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::microseconds(info_number(fields_of(info), "server_time_usec")));
}

void warn_of_dangers(RedisSession& session) {
    try {
        const auto warn_of = [](const std::string& address, const std::string& danger) {
            std::string text = "Redis at " + address;
            warn(text.append(" ").append(danger));
        };
        const auto infos = session.info();
        for (const auto& [address, info] : infos) {
            for (const auto& danger : dangers_in(info)) {
                warn_of(address, danger.text);
            }
        }
        for (const auto& [address, text] :
             check_replay(session, infos, ReplayCheck::kOneCommand).skips) {
            warn_of(address, text);
        }
    } catch (const Failure& failure) {
        warn(std::string("Redis cannot be checked: ") + failure.what());
    }
}

void check_prefix(RedisSession& session, WrongPrefix wrong) {
    const auto text = wrong_prefix_text(session);
    if (text.empty()) {
        return;
    }
    if (wrong == WrongPrefix::kFailure) {
        throw Failure(ExitStatus::kUsage, text + ", or see --force");
    }
    warn(text);
}

}  // namespace tollgate::cli
