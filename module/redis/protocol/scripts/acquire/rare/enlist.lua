--R"lua(
-- Lists an id until the time `ends` if it has no key: no other list has it then. Removes some ids whose time has
-- ended. `digests` is the set of the keys of the id. An ACL may forbid it.
return function(digests, ends, now)
    if redis.pcall('EXISTS', digests) ~= 0 then
        return
    end
    local list, times, id = KEYS[#KEYS - 1], KEYS[#KEYS], digests:match('{(.*)}')
    for _, other in ipairs(redis.pcall('ZRANGEBYSCORE', times, '-inf', now, 'LIMIT', 0, 10)) do
        redis.pcall('ZREM', list, other)
        redis.pcall('ZREM', times, other)
    end
    if (tonumber(redis.pcall('ZSCORE', times, id)) or 0) >= ends then
        return
    end
    for name, score in pairs({[list] = 0, [times] = ends}) do
        redis.pcall('ZADD', name, score, id)
        local rest = redis.pcall('PTTL', name)
        if type(rest) ~= 'table' and rest < ends - now then
            redis.pcall('PEXPIREAT', name, ends)
        end
    end
end
--)lua"_lua
