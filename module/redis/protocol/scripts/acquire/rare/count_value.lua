--R"lua(
-- The hash `counter` of a value has become a counter of the current longest window: counts it. The count is kept for as long
-- as this hash.
return function(values, counter, now)
    local function expiry_of(name)
        return now + redis.call('PTTL', name)
    end
    redis.pcall('HSET', values.others, values.period .. window_part.kWindowOfValues, values.window,
                values.period .. window_part.kValues, values.count)
    local ends = expiry_of(counter)
    if ends > expiry_of(values.others) then
        redis.pcall('PEXPIREAT', values.others, ends)
    end
end
--)lua"_lua
