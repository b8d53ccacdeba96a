#include "module/cli/redis/deployment_warnings.hpp"

#include <set>
#include <string>

#include "module/cli/failure.hpp"
#include "module/cli/redis/replay.hpp"
#include "module/cli/redis/server_info.hpp"
#include "module/cli/terminal/output.hpp"
#include "module/management/plan_rules.hpp"

namespace tollgate::cli {

namespace {

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
