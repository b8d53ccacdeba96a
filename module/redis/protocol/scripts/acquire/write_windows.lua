--R"lua(
-- A part of decide.lua: adds what is taken, and writes the windows that this or an adjustment changed. Sets `failure` to
-- Redis's error, if any.

local at, window = first, 0
last = start
local steps = added
for t = 1, tables do
    local windows, width = ARGV[at], 2
    if costs then
        added = steps * costs[t]
    end
    if windows < 0 then
        windows, width = -windows, 3
    end
    local values, field, new, n = found[t], at + 2 + 2 * windows, false, 0
    local after = field + windows * width
    local adjusted = adjustments and values.adjusted
    if added > 0 or adjusted then
        local name, done = KEYS[key + t]
        if windows == 2 and width == 2 and wanted == 0 and not (values[1] or values[3] or values.lost_time) then
            -- The most frequent case: two fixed windows, of which only the counts change.
            local units, of_longest = reply[last + 2] + added, reply[last + 4] + added
            reply[last + 2], reply[last + 4] = units, of_longest
            last = last + 4
            done = pcall('HSET', name, ARGV[field + 1], units, ARGV[field + 3], of_longest)
        else
            changes = changes or {false, false, false, false, false, false, false, false}
            local value = wanted > 0 and 3 or 1
            for field_at = field, after - 1, width do
                new = values[value]
                local is_balance = new == 'balance'
                if is_balance then
                    new = false
                end
                local is_bucket = new and new ~= true
                local units = reply[last + 2] + (is_bucket and added * new or added)
                reply[last + 2] = units
                if is_balance then  -- It is the last window, and no window slides.
                    units = ARGV[field - 2] - units
                end
                if new then
                    changes[n + 1], changes[n + 2] = ARGV[field_at], reply[last + 1]
                    n = n + 2
                end
                changes[n + 1], changes[n + 2] = ARGV[field_at + 1], units
                n = n + 2
                if width == 3 and (new or adjusted) and not is_bucket then
                    changes[n + 1], changes[n + 2] = ARGV[field_at + 2], reply[last + 3]
                    n = n + 2
                end
                value = value + width
                last = last + width
            end
            if lease > 0 and added > 0 then
                if values[1] ~= node then
                    if values[1] then
                        changes[n + 1], changes[n + 2] = lease_field.kOfOther, values[2]
                        n = n + 2
                    end
                    changes[n + 1], changes[n + 2] = lease_field.kNode, node
                    n = n + 2
                end
                local grant = format('%.0f:%s:%.0f', now, ARGV[5], added)
                for nth_window = 1, windows do
                    -- After the clock went back, a window to come is counted. take_back knows windows by the time.
                    if reply[last + (nth_window - windows - 1) * width + 1] ~= current[window + 2 * nth_window - 1] then
                        grant = now
                    end
                end
                changes[n + 1], changes[n + 2] = lease_field.kGrant, grant
                n = n + 2
            elseif values.lost_time then
                changes[n + 1], changes[n + 2] = lease_field.kGrant, values.lost_time
                n = n + 2
            end
            done = pcall('HSET', name, unpack(changes, 1, n))
        end
        if type(done) == 'table' then
            failure = failure or done
            break
        end
        if new or (adjustments and values.report) or (keeps and values.day) or values.fills then
            expire = expire or rare('expire')
            -- The other tables count nevertheless.
            failure = expire(name, values, at, windows, width, reply[last - width + 1], new, months, now) or failure
            if digests and values.day and not name:find(':group', -6, true) then
                enlist = enlist or rare('enlist')
                enlist(digests, (values.day + 1 + ARGV[at + 1]) * 86400000, now)
            end
        end
        if values.others then
            count_value = count_value or rare('count_value')
            count_value(values, name, now)
        end
    else
        last = last + windows * width
    end
    at, window = after, window + 2 * windows
end
--)lua"_lua
