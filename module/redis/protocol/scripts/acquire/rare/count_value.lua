--R"lua(
-- The hash `counter` of a value has become a counter of the current longest window: counts it. The count is kept for as long
-- as this hash.
return function(values, counter, now)
    redis.pcall('HSET', values.others, values.period .. window_part.kWindowOfValues, values.window,
                values.period .. window_part.kValues, values.count)
    local rest, of_others = redis.pcall('PTTL', counter), redis.pcall('PTTL', values.others)
    if type(rest) ~= 'table' and rest > of_others then
        redis.pcall('PEXPIREAT', values.others, now + rest)
    end
end
--)lua"_lua
