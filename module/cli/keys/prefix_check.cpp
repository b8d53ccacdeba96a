#include "module/cli/keys/prefix_check.hpp"

#include <set>
#include <string_view>

#include "module/cli/failure.hpp"
#include "module/cli/terminal/output.hpp"
#include "module/management/plan_rules.hpp"
#include "module/redis/protocol/schema.hpp"

namespace tollgate::cli {

namespace {

constexpr std::size_t kMostPrefixes = 3;

bool has_tables(RedisSession& session, const std::string& key) {
    // The key may belong to another program, or this user may not read it.
    const auto hash = session.run_if_accepted({"HGETALL", key});
    return hash && !management::tables_in(*hash).empty();
}

/// The prefix with a colon at its end, or without it.
std::string with_other_end(std::string prefix) {
    if (prefix.ends_with(':')) {
        prefix.pop_back();
    } else {
        prefix += ':';
    }
    return prefix;
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

/// Prefixes with plan tables, at most kMostPrefixes.
std::set<std::string> prefixes_with_tables(RedisSession& session, const std::string& prefix) {
    const auto similar = with_other_end(prefix);
    const auto tables = redis::Keys(similar).plans();
    if (has_tables(session, tables)) {
        return {similar};
    }
    std::set<std::string> found;
    RedisSession::ScanPosition position;
    do {
        search_master(session, position, found);
    } while (!position.is_at_start());
    return found;
}

}  // namespace

void warn_of_prefix(RedisSession& session, const std::string& prefix) {
    try {
        const auto published = session.run_if_accepted({"EXISTS", redis::Keys(prefix).plans()});
        // A user that may not read this key knows nothing about it.
        if (!published || published->integer != 0) {
            return;
        }
        const auto found = prefixes_with_tables(session, prefix);
        if (!found.empty()) {
            warn("no gateway has published plan tables with the prefix \"" + prefix +
                 "\", but plan tables exist with " +
                 management::quoted_list({found.begin(), found.end()}) +
                 ": set --prefix (or TOLLGATE_PREFIX) to the prefix of tollgate_redis");
        }
    } catch (const Failure&) {
        return;
    }
}

}  // namespace tollgate::cli
