--R"lua(
-- Enters the node ARGV[2] in the sorted set KEYS[1] for ARGV[3] ms, and removes nodes whose time has ended. Returns the
-- token ARGV[1], then the number of nodes.

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('ZADD', KEYS[1], now + ARGV[3], ARGV[2])
return {ARGV[1], redis.call('ZCARD', KEYS[1])}
--)lua"_lua
