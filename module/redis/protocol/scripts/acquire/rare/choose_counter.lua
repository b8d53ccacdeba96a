--R"lua(
-- A value has no counter in the current longest window of its table: `values` has what its hash has. Whether it may get
-- one: fewer than `most` values have one in the window `number`, which the window `following` follows and whose field is
-- `field`. Then count_value counts it, if its hash is written. Otherwise it shares the hash `others` with further values.
-- Returns nil and Redis's error, if any.
return function(values, others, most, number, following, field)
    local period = field:match('[^.]*') .. '.'
    local known = redis.pcall('HMGET', others, period .. window_part.kWindowOfValues, period .. window_part.kValues)
    if known.err then
        return nil, known
    end
    -- The clock may have gone back: see read_windows.lua.
    local window = tonumber(known[1])
    local is_known = window == number or window == following
    local count = is_known and tonumber(known[2]) or 0
    if count >= most then
        return false
    end
    values.others, values.period, values.window, values.count = others, period, is_known and window or number, count + 1
    return true
end
--)lua"_lua
