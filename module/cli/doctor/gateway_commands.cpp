#include "module/cli/doctor/gateway_commands.hpp"

#include <algorithm>
#include <string>

namespace tollgate::cli {

// What module/redis/protocol sends and its scripts call, and what module/management does.
std::span<const GatewayCommand> gateway_commands() {
    using enum GatewayUse;
    static constexpr GatewayCommand kCommands[] = {
        {kRequests, "evalsha", "0 1 KEY"},
        {kRequests, "eval", "return 1 KEY"},
        {kRequests, "ping", ""},
        {kRequests, "time", ""},
        {kRequests, "hmget", "KEY f"},
        {kRequests, "hset", "KEY f v"},
        {kRequests, "pttl", "KEY"},
        {kRequests, "pexpireat", "KEY 1"},
        {kLastUses, "exists", "KEY"},
        {kChanges, "subscribe", "CHANNEL"},
        {kNodes, "zadd", "KEY 1 m"},
        {kNodes, "zcard", "KEY"},
        {kNodes, "zrangebyscore", "KEY 1 2"},
        {kNodes, "zremrangebyscore", "KEY 1 2"},
        {kRecalls, "publish", "CHANNEL m"},
        {kHistory, "hincrby", "KEY f 1"},
        {kHistory, "hkeys", "KEY"},
        {kHistory, "hdel", "KEY f"},
        {kSubjects, "zscore", "KEY m"},
        {kSubjects, "zrem", "KEY m"},
        {kInFlight, "hgetall", "KEY"},
        {kInFlight, "hdel", "KEY f"},
        {kNotices, "xadd", "KEY * f v"},
        {kManagement, "hgetall", "KEY"},
        {kManagement, "hdel", "KEY f"},
        {kManagement, "hincrby", "KEY f 1"},
        {kManagement, "hscan", "KEY 0"},
        {kManagement, "hlen", "KEY"},
        {kManagement, "del", "KEY"},
        {kManagement, "sadd", "KEY m"},
        {kManagement, "srem", "KEY m"},
        {kManagement, "smembers", "KEY"},
        {kManagement, "sismember", "KEY m"},
        {kManagement, "zrem", "KEY m"},
        {kManagement, "zscore", "KEY m"},
        {kManagement, "zmscore", "KEY m"},
        {kManagement, "zrank", "KEY m"},
        {kManagement, "zrange", "KEY 0 1"},
        {kManagement, "zrangebylex", "KEY - +"},
        {kManagement, "pexpire", "KEY 1"},
        {kManagement, "persist", "KEY"},
        {kManagement, "xadd", "KEY * f v"},
        {kManagement, "xrange", "KEY - +"},
        {kManagement, "xrevrange", "KEY + -"},
        {kManagement, "role", ""},
        {kManagement, "wait", "0 1"},
    };
    return kCommands;
}

redis::Command example_of(const GatewayCommand& command, const redis::Keys& keys) {
    redis::Command words{std::string(command.name)};
    auto rest = command.arguments;
    while (!rest.empty()) {
        const auto word = rest.substr(0, rest.find(' '));
        rest.remove_prefix(std::min(word.size() + 1, rest.size()));
        words.push_back(word == "KEY"       ? keys.probe()
                        : word == "CHANNEL" ? keys.events()
                                            : std::string(word));
    }
    return words;
}

std::string_view consequence_of(GatewayUse use) {
    using enum GatewayUse;
    switch (use) {
        case kRequests:
            return "gateways treat Redis as unreachable";
        case kLastUses:
            return "the last use of keys is not written, subjects are not listed, and nodes look "
                   "every key up again when their subscription is restored";
        case kChanges:
            return "changes of keys take effect within a second and not at once";
        case kNodes:
            return "nodes are not counted: one that decides alone grants all that is left";
        case kRecalls:
            return "leases are not recalled, and other nodes learn of a ban later";
        case kHistory:
            return "no request can be counted from the end of a day on";
        case kSubjects:
            return "usage and bans of ids without a key remain listed after their end";
        case kInFlight:
            return "each node limits requests in flight alone";
        case kNotices:
            return "nothing is noticed";
        case kManagement:
            return "tollgate_admin answers 503, or does not wait for replicas";
    }
    return {};
}

}  // namespace tollgate::cli
