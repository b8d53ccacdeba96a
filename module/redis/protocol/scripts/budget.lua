--R"lua(
-- Adds what a node has charged to the budgets of addresses, and tells what all nodes have. KEYS are the hashes of the
-- budgets. ARGV[1] is the token. For each budget follow the Unix time in ms at which its hash expires, the number of its
-- windows and, for each of these, the names of its two fields, the number of the current window, how many windows the clock
-- of another node may be ahead, and the units charged in it. Returns the token, then for each window the units of all nodes,
-- or -1 if the clock of another node is ahead.

local totals, at = {ARGV[1]}, 2
for key = 1, #KEYS do
    local ends, windows = ARGV[at], ARGV[at + 1] + 0
    at = at + 2
    local fields = {}
    for window = 1, windows do
        local field = at + 5 * (window - 1)
        fields[2 * window - 1], fields[2 * window] = ARGV[field], ARGV[field + 1]
    end
    local known = redis.call('HMGET', KEYS[key], unpack(fields))
    local changed, is_late = {}, false
    for window = 1, windows do
        local number, ahead, units = ARGV[at + 2] + 0, ARGV[at + 3] + 0, ARGV[at + 4] + 0
        local counted, total = tonumber(known[2 * window - 1]) or 0, tonumber(known[2 * window]) or 0
        -- A window that is further ahead was counted with a wrong clock.
        if counted > number and counted <= number + ahead then
            totals[#totals + 1] = -1
            is_late = true
        else
            total = (counted == number and total or 0) + units
            changed[#changed + 1], changed[#changed + 2] = ARGV[at], ARGV[at + 2]
            changed[#changed + 1], changed[#changed + 2] = ARGV[at + 1], string.format('%d', total)
            totals[#totals + 1] = total
        end
        at = at + 5
    end
    if #changed > 0 then
        redis.call('HSET', KEYS[key], unpack(changed))
        -- The node that is ahead has set a later time, unless it has other windows.
        local rest = is_late and redis.pcall('PTTL', KEYS[key])
        if type(rest) ~= 'number' or rest < 0 then
            redis.pcall('PEXPIREAT', KEYS[key], ends)
        end
    end
end
return totals
--)lua"_lua
