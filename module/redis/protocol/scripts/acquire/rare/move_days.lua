--R"lua(
-- Drops the days of a table that its history `name` no longer keeps, and adds those in `past`: each day and its units. They
-- are added last: if a command is refused, the next acquire does all of it again. Returns Redis's error, if any.
local function add_to_history(name, quota, past, kept, now)
    local today, last, dropped = (now - now % 86400000) / 86400000, 0, {}
    local table_name = quota:match('.*}[^:]*:(.*)') .. ':'
    local fields = redis.pcall('HKEYS', name)
    if fields.err then
        return fields
    end
    for _, field in ipairs(fields) do
        local day = field:sub(1, #table_name) == table_name and tonumber(field:sub(#table_name + 1))
        if day and day < today - kept then
            dropped[#dropped + 1] = field
        end
    end
    if #dropped > 0 then
        local done = redis.pcall('HDEL', name, unpack(dropped))
        if type(done) == 'table' then
            return done
        end
    end
    for n = 1, #past, 2 do
        last = math.max(last, past[n])
    end
    if last < today - kept then
        return
    end
    -- What follows the addition is tried before it: PTTL and PEXPIREAT, and a HSET of the history for that of the table.
    local ends = (last + 1 + kept) * 86400000
    local done = redis.pcall('PTTL', name)
    if type(done) ~= 'table' then
        done = ends <= now + done or redis.pcall('PEXPIREAT', name, ends)
    end
    if type(done) == 'table' then
        return done
    end
    local is_new = done == 0
    local counted = redis.pcall('HMGET', name, table_name .. last)
    done = counted.err and counted or redis.pcall('HSET', name, table_name .. last, counted[1] or 0)
    if type(done) == 'table' then
        return done
    end
    for n = 1, #past, 2 do
        local day = past[n]
        if day >= today - kept then
            done = redis.pcall('HINCRBY', name, table_name .. day, past[n + 1])
            if type(done) == 'table' then
                return done
            end
        end
    end
    if is_new then
        redis.pcall('PEXPIREAT', name, ends)
    end
end

-- Moves the ended days of an id to its history, KEYS[key]. `found` has the values of its tables. The terms of the first
-- table are at `at`, and its hash is KEYS[key + 1]. `added` units are added to each table, or so many times `costs`.
-- Tables of which nothing is written keep their day. Returns Redis's error, if any.
return function(found, at, tables, key, added, now, costs)
    for t = 1, tables do
        local past, windows, width = found[t].past, ARGV[at], 2
        if windows < 0 then
            windows, width = -windows, 3
        end
        if past and (added > 0 and (not costs or costs[t] > 0) or found[t].adjusted) then
            local failure = add_to_history(KEYS[key], KEYS[key + t], past, ARGV[at + 1], now)
            if failure then
                return failure
            end
        end
        at = at + 2 + windows * (2 + width)
    end
end
--)lua"_lua
