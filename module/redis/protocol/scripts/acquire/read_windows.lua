--R"lua(
-- A part of decide.lua: reads the windows of an id, and stores their current state after reply[start]. `granted` becomes
-- how many requests fit; `left` is the number of units left in the fullest window, `left_to_strike` the same of the tables
-- whose refusals are strikes, and `last` the index of the last number in the reply; `moves` is true if units of ended days
-- belong to a history.

local marker, at, window, of_others = key + tables, first, 0, key + tables + reports
for t = 1, tables do
    local windows, width = ARGV[at], 2
    if windows < 0 then
        windows, width = -windows, 3
    end
    local fields, value, values = at + 2 + 2 * windows, 1
    local strikes = bans and ARGV[terms + 5]:byte(t) == 49
    local after = fields + windows * width
    if wanted > 0 then
        value = 3
    end
    if read then
        values = read
    elseif wanted > 0 then
        values = pcall('HMGET', KEYS[key + t], lease_field.kNode, lease_field.kGrant, unpack(ARGV, fields, after - 1))
    else
        values = pcall('HMGET', KEYS[key + t], unpack(ARGV, fields, after - 1))
    end
    if values.err then
        failure = values
        break
    end
    local longest = current[window + 2 * windows - 1]
    if others > 0 and most_values[at] then
        of_others = of_others + 1
        if (tonumber(values[value + (windows - 1) * width]) or -1) < longest then
            choose_counter = choose_counter or rare('choose_counter')
            local month = months and months[fields - 2]
            local has_counter, refusal = choose_counter(values, KEYS[of_others], most_values[at], longest,
                                                        month and month.ends / 86400000 or longest + 1,
                                                        ARGV[after - width])
            if has_counter == false then
                KEYS[key + t], is_shared = KEYS[of_others], true
                values = pcall('HMGET', KEYS[of_others], lease_field.kNode, lease_field.kGrant,
                               unpack(ARGV, fields, after - 1))
                if wanted == 0 and not values.err then
                    values = {unpack(values, 3, 2 + after - fields)}
                end
                values.is_shared, refusal = true, values.err and values
            end
            if refusal then
                failure = refusal
                break
            end
        end
    end
    found[t] = values
    local applies = adjustments
    if adjustments then
        local report = ARGV[adjustments]
        adjustments = adjustments + 1
        local calls = report:find(':', 1, true)
        if calls then
            take_back = take_back or rare('take_back')
            values.lost, values.lost_time, values.lost_units = take_back(KEYS[key + t], report:sub(calls), node)
            if not values.lost then
                failure = values.lost_time
                break
            end
            report = report:sub(1, calls - 1)
        end
        if report ~= '0' then
            marker = marker + 1
            local applied = pcall('HMGET', KEYS[marker], kReportNumber)
            if applied.err then
                failure = applied
                break
            end
            applies = (tonumber(applied[1]) or 0) < report + 0
            values.report, values.marker = applies and report, marker
        end
        -- What a value owes to an earlier window, it owes to the counter that it had then.
        applies = applies and not (values.is_shared and ARGV[adjustments + 3 * windows - 3] + 0 ~= longest)
    end
    for argument = at + 2, fields - 1, 2 do
        local room, number, units, before = ARGV[argument], values[value], tonumber(values[value + 1]) or 0, 0
        local now_number, text, new, bucket, owed = current[window + 1], current[window + 2], false, nil, 0
        local is_balance = text == 'balance'
        if width == 3 then
            before = tonumber(values[value + 2])
            new = not before
            before = before or 0
        end
        -- An earlier id usually had the same number. Then its text is compared, and not converted.
        if is_balance then
            number, units, new = now_number, room - units, 'balance'
        elseif number == text then
            number = now_number
        else
            number = tonumber(number)
            if not now_number then
                bucket, before = text, 0
            elseif number == now_number then
                -- The most frequent terms store the text, which is not to be another program's.
                if text == 0 then
                    current[window + 2] = values[value]
                end
            else
                -- A future window was counted before the clock went back (a failover). It is kept if it is at most one
                -- minute or one window ahead. One that is further ahead was counted with a wrong clock. A month may have
                -- begun on another billing day.
                local ahead, length = (number or -2) - now_number, ARGV[argument + 1]
                local is_kept = ahead == 1 and length > 0
                if ahead > 0 and not is_kept then
                    local begins = number * (length > 0 and length or 86400000)
                    is_kept = begins - now <= 60000 or length == 0 and begins == months[argument].ends
                end
                if not is_kept then
                    before = ahead == -1 and units or 0
                    if length == 86400000 and ARGV[at + 1] ~= '0' then
                        values.day = now_number
                        if units > 0 then
                            values.past, moves = {number, units}, true
                        end
                    end
                    number, units = now_number, 0
                end
                new = true
            end
        end
        if adjustments then
            local adjusted = ARGV[adjustments] + 0
            local by, by_before = ARGV[adjustments + 1] + 0, ARGV[adjustments + 2] + 0
            adjustments = adjustments + 3
            if bucket then
                owed = applies and by or 0
                values.adjusted = values.adjusted or owed ~= 0
            elseif applies and (by ~= 0 or by_before ~= 0) then
                adjust = adjust or rare('adjust')
                local keeps_history = ARGV[argument + 1] == 86400000 and ARGV[at + 1] ~= '0'
                units, before = adjust(values, keeps_history, width == 3, number, units, before,
                                       adjusted, by, by_before)
                moves = moves or values.past
            end
            if values.lost_units and not bucket then
                local at_lease, length = values.lost_time, ARGV[argument + 1]
                local of_lease = length > 0 and (at_lease - at_lease % length) / length or (months[argument].at(at_lease))
                adjust = adjust or rare('adjust')
                local keeps_history = length == 86400000 and ARGV[at + 1] ~= '0'
                units, before = adjust(values, keeps_history, width == 3, number, units, before,
                                       of_lease, -values.lost_units, 0)
                moves = moves or values.past
            end
        end
        if bucket then
            refill = refill or rare('refill')
            number, units, room = refill(values, bucket, number, units, reply[1], owed, KEYS[key + t],
                                         ARGV[fields + value - (wanted > 0 and 3 or 1)])
            new = bucket.token
        else
            room = room - units
        end
        values[value] = new
        window = window + 2
        value = value + width
        reply[last + 1], reply[last + 2] = number, units
        if width == 3 then
            local length = ARGV[argument + 1]
            reply[last + 3] = before
            local elapsed = now - number * length
            local weighted = elapsed > 0 and before * (length - elapsed) / length or before
            room = room - math.ceil(weighted)
        end
        last = last + width
        if costs then
            local of_table = costs[t]
            if of_table > 0 then
                room = (room - room % of_table) / of_table
            elseif needs[t] == 0 or room >= needs[t] then
                room = math.huge
            end
        end
        if cost > 0 and room < granted * cost then
            granted = room > 0 and (room - room % cost) / cost or 0
        elseif needed > cost and room < needed then
            granted = 0
        end
        if room < left then
            left = room
        end
        if strikes and room < left_to_strike and not is_balance then
            left_to_strike = room
        end
    end
    at = after
end
--)lua"_lua
