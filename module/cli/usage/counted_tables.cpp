#include "module/cli/usage/counted_tables.hpp"

#include <set>

#include "module/cli/redis/redis_reply.hpp"

namespace tollgate::cli {

management::CountingTables search_tables(RedisSession& session, const redis::Keys& keys,
                                         const std::string& id) {
    constexpr int kPages = 100;
    const auto prefix = keys.quota(id, "");
    std::set<std::string> found;
    RedisSession::ScanPosition position;
    bool is_complete = false;
    for (int page = 0; page < kPages && !is_complete; ++page) {
        for (const auto& key : session.scan(position, escape_glob(prefix) + "*", 1000)) {
            found.insert(key.substr(prefix.size()));
        }
        is_complete = position.is_at_start();
    }
    return {.known = {}, .found = {found.begin(), found.end()}, .complete = is_complete};
}

}  // namespace tollgate::cli
