--R"lua(
-- Tests whether Redis accepts writes: writes KEYS[1], which expires in a minute. Returns the token ARGV[1], then the
-- time in seconds and the microseconds of that second.

local time = redis.call('TIME')
local done = redis.pcall('HSET', KEYS[1], 'time', time[1])
if type(done) == 'table' then
    return done
end
redis.pcall('PEXPIREAT', KEYS[1], (time[1] + 60) * 1000)
return {ARGV[1], time[1], time[2]}
--)lua"_lua
