#include <string_view>

#include "module/redis/protocol/script.hpp"

namespace tollgate::redis {

namespace {

constexpr std::string_view kText = R"lua(
-- Enters the node ARGV[2] in the sorted set KEYS[1] for ARGV[3] ms, and removes nodes whose time has ended. Returns the
-- token ARGV[1], then the number of nodes.

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local removed = redis.pcall('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if type(removed) == 'table' then
    return removed
end
redis.call('ZADD', KEYS[1], now + ARGV[3], ARGV[2])
return {ARGV[1], redis.call('ZCARD', KEYS[1])}
)lua";

}  // namespace

const Script& heartbeat_script() {
    static const Script script = make_script(kText);
    return script;
}

}  // namespace tollgate::redis
