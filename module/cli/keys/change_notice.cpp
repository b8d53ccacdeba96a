#include "module/cli/keys/change_notice.hpp"

#include <chrono>
#include <iterator>
#include <utility>

namespace tollgate::cli {

namespace {

// Gateways whose subscription was down longer drop all their records.
constexpr std::chrono::hours kKept{1};

std::string milliseconds_of(Instant time) {
    return std::to_string(
        std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch()).count());
}

std::vector<RedisCommand> notice(RedisSession& session, const redis::Keys& keys,
                                 std::span<const std::string> names) {
    const auto now = session.time(keys.changes());
    std::vector<RedisCommand> commands{
        {"ZREMRANGEBYSCORE", keys.changes(), "-inf", milliseconds_of(now - kKept)}};
    std::vector<RedisCommand> publications;
    for (const auto& name : names) {
        if (!name.empty()) {
            commands.push_back({"ZADD", keys.changes(), milliseconds_of(now), name});
            publications.push_back({"PUBLISH", keys.events(), name});
        }
    }
    std::ranges::move(publications, std::back_inserter(commands));
    return commands;
}

}  // namespace

void announce(RedisSession& session, const redis::Keys& keys, std::span<const std::string> names) {
    session.run_atomically(notice(session, keys, names));
}

bool change_and_announce(RedisSession& session, const redis::Keys& keys,
                         std::vector<RedisCommand> commands, std::span<const std::string> names) {
    const std::string changed(key_of(commands.front()).value());
    if (!session.may_span(changed, keys.changes())) {
        if (!session.run_atomically(std::move(commands))) {
            return false;
        }
        announce(session, keys, names);
        return true;
    }
    std::ranges::move(notice(session, keys, names), std::back_inserter(commands));
    return session.run_atomically(std::move(commands)).has_value();
}

}  // namespace tollgate::cli
