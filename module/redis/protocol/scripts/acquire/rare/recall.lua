--R"lua(
-- Asks the other nodes to return the units of a table that they lease. The last of these leases was granted at
-- `leased_at`, and the leases were last recalled at `recalled`: a lease is recalled once. `at` is the index of the table's
-- terms, and its windows follow reply[last]. Nothing is recalled if the units would not help a full window, if one resets
-- within a second, or if the cost exceeds a limit. Returns the time of the recall; 0 if there is none.
return function(name, leased_at, recalled, now, at, reply, last, cost)
    if recalled >= leased_at and recalled <= now then
        return recalled
    end
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
                return 0
            end
        end
        last = last + width
    end
    if not helps then
        return 0
    end
    local prefix, tag, id, value = name:match('^(.*)' .. kQuotaKey .. '{(.*)}([^:]*):[^:]*(.*)')
    local counter = (id == '' and tag or id) .. value
    local done = redis.pcall('PUBLISH', prefix .. kEventsKey, kRecallOf .. counter)
    if type(done) ~= 'table' then
        done = redis.pcall('HSET', name, lease_field.kRecalled, now)
    end
    return type(done) == 'table' and 0 or now
end
--)lua"_lua
