--R"lua(
-- Redis's error as that of an id whose units are counted.
local function counted(refused)
    return {err = kCounted .. refused.err}
end

-- Writes the number of the report that was applied to a table, and when its hash `name` expires. `at` is the index of its
-- terms, `number` that of the longest window, `new` is true if this window is. Returns the error of the id, if any.
return function(name, values, at, windows, width, number, new, months, now)
    local length, month = ARGV[at + 1 + 2 * windows], months and months[at + 2 * windows]
    local window_ends = (number + 1) * length
    if length == 0 then
        window_ends = select(2, month.at(number * 86400000))
    end
    if length == kBalanceLength + 0 then
        window_ends = now + 366 * 86400000
    end
    -- A sliding window counts until the next one ends.
    local ends = window_ends + (width - 2) * length
    for argument = at + 3, at + 2 * windows - 1, 2 do
        -- A shorter window that does not divide the longest one may end after it.
        local shorter = ARGV[argument]
        if shorter == 0 then
            ends = math.max(ends, window_ends + 2678400000)
        elseif shorter > 0 and (length > 0 and length or 86400000) % shorter > 0 then
            ends = math.max(ends, window_ends + (width - 1) * shorter)
        end
    end
    if values.report then
        -- Expires when Redis takes no adjustment of the report any more. The node sends none of a day that ended more than
        -- a week ago. Values that share a counter may be any number: their reports are known for ten minutes.
        local known = ARGV[at + 1] == '0' and ends or math.max(ends, now + 8 * 86400000)
        local done = redis.pcall('HSET', KEYS[values.marker], kReportNumber, values.report)
        if type(done) ~= 'table' then
            done = redis.pcall('PEXPIREAT', KEYS[values.marker], values.is_shared and math.min(known, now + 600000) or known)
        end
        if type(done) == 'table' then
            return counted(done)
        end
    end
    if values.day then
        -- The last day of an id that does not return is kept as long as the history.
        ends = math.max(ends, (values.day + 1 + ARGV[at + 1]) * 86400000)
    end
    -- Only if the longest window is new, or a bucket is not full by then. The key keeps a later expiry, which a longer
    -- window of the id's previous plan has set. A hash with a balance never expires, also if the present plan has none.
    local rest = redis.pcall('PTTL', name)
    if type(rest) == 'table' then
        return counted(rest)
    end
    if rest == -1 and redis.pcall('HMGET', name, kBalanceLeft)[1] then
        return
    end
    local expires = now + rest
    if values.fills and expires < now + values.fills then
        new, ends = true, math.max(ends, now + 2 * values.fills)
    end
    if (new or values.day) and ends > expires then
        local done = redis.pcall('PEXPIREAT', name, ends)
        return type(done) == 'table' and counted(done) or nil
    end
end
--)lua"_lua
