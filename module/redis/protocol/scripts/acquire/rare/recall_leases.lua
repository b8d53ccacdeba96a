--R"lua(
-- With the function `recall`, asks the other nodes to return the units that they lease of the table `name`, whose
-- fields of leases are `values`. `at` is the index of the table's terms, and its windows follow reply[last]. Nothing
-- is recalled if the units would not help a full window, if one resets within a second, or if the cost exceeds a
-- limit. Returns the time of the last of these leases, or nothing; and the time of their recall, or 0.
return function(recall, name, values, node, now, at, reply, last, cost)
    local function message(leased_at)
        local windows, width, helps = ARGV[at], 2, false
        if windows < 0 then
            windows, width = -windows, 3
        end
        for argument = at + 2, at + 2 * windows, 2 do
            local room, number, length = cost, reply[last + 1], ARGV[argument + 1]
            if length >= 0 then  -- Nothing is leased of a bucket.
                room = ARGV[argument] - reply[last + 2]
            end
            if length >= 0 and width == 3 then
                room = room - reply[last + 3] * math.min(1, (number + 1) - now / length)
            end
            if room < cost then
                helps = true
                local from, ends = (number - width + 2) * length, (number + 1) * length
                if cost > ARGV[argument] or leased_at < from or (length > 0 and width == 2 and ends <= now + 1000) then
                    return nil
                end
            end
            last = last + width
        end
        if not helps then
            return nil
        end
        local prefix, tag, id, value = name:match('^(.*)' .. kQuotaKey .. '{(.*)}([^:]*):[^:]*(.*)')
        return prefix .. kEventsKey, kRecallOf .. (id == '' and tag or id) .. value
    end
    -- A grant begins with its time.
    local granted, granted_before = (values[2] or ''):match('^%d+'), (values[3] or ''):match('^%d+')
    local leased_at, recalled = recall(node, values[1], granted, granted_before, values[4], now, message)
    if recalled == now and type(redis.pcall('HSET', name, lease_field.kRecalled, now)) == 'table' then
        recalled = 0
    end
    return leased_at, recalled
end
--)lua"_lua
