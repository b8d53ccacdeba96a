--R"lua(
-- Enters the node ARGV[2] in the sorted set KEYS[1] for ARGV[3] ms, and removes nodes whose time has ended. Returns the
-- token ARGV[1], then the number of nodes. A text instead of the number is an error of this set alone: an error reply
-- could mean that Redis refuses the connection.

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local removed = redis.pcall('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if type(removed) == 'table' then
    return {ARGV[1], removed.err}
end
local added = redis.pcall('ZADD', KEYS[1], now + ARGV[3], ARGV[2])
if type(added) == 'table' then
    return {ARGV[1], added.err}
end
local nodes = redis.pcall('ZCARD', KEYS[1])
return {ARGV[1], type(nodes) == 'table' and nodes.err or nodes}
--)lua"_lua
