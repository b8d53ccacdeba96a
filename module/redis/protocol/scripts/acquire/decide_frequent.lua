--R"lua(
-- A part of the loop of acquire.lua: decides the most frequent requests: of the most frequent terms, of an id that has no
-- ban and no strike, in windows that Redis has or that are new (of a value, that Redis has), with units left for one more
-- request. Sets `plain` to 'decided' then. What it does not decide, decide.lua does, with the same values.

local quota = key + 1
if plain and (bans or keeps) then
    if KEYS[quota]:byte(-1) == 125 then  -- See `digests` in decide.lua.
        quota = quota + 1
    end
    if bans then
        plain, quota = pcall('EXISTS', KEYS[quota]) == 0, quota + 1
    end
    if keeps then
        quota = quota + 1
    end
end
if plain and count + wanted > 0 then
    local name, number, units, number_of_longest, of_longest = KEYS[quota]
    if wanted == 0 then
        read = pcall('HMGET', name, number1, count1, number2, count2)
        number, units, number_of_longest, of_longest = read[1], read[2], read[3], read[4]
    else
        -- The last lease is read with the windows, which saves a command.
        read = pcall('HMGET', name, lease_field.kNode, lease_field.kGrant, number1, count1, number2, count2)
        number, units, number_of_longest, of_longest = read[3], read[4], read[5], read[6]
    end
    -- Whether both windows are those that Redis has; and whether the longer one is new, and the shorter one with it.
    local are_current, are_new = number == text1 and number_of_longest == text2, number_of_longest ~= text2
    if are_current then
        local text = units
        units = converted[text]
        if not units then
            units = tonumber(text) or 0
            if units < most_converted then
                converted[text] = units
            end
        end
    elseif keeps or read.err or are_new and others > 0 or not (number or are_new)
           or number and (tonumber(number) or current1) >= current1
           or are_new and number_of_longest and (tonumber(number_of_longest) or current2) >= current2 then
        units = nil
    else
        units = 0
    end
    if units then
        local text = of_longest
        of_longest = are_new and 0 or converted[text]
        if not of_longest then
            of_longest = tonumber(text) or 0
            if of_longest < most_converted then
                converted[text] = of_longest
            end
        end
        local taken, lease = count * cost, 0
        units, of_longest = units + taken, of_longest + taken
        local decides = units + cost <= limit1 and of_longest + cost <= limit2
        if decides and wanted > 0 then
            local rest, of_longest_left = limit1 - units, limit2 - of_longest
            if of_longest_left < rest then
                rest = of_longest_left
            end
            lease = rest >= 8 * wanted and wanted or (rest - rest % 8) / 8
            units, of_longest = units + lease, of_longest + lease
            decides = taken + lease > 0
        end
        if decides then
            local text_of_longest, done = converted[of_longest]
            text = converted[units]
            if not text then
                text = format(units < most_long and '%d' or '%.0f', units)
                if units < most_converted then
                    converted[units] = text
                end
            end
            if not text_of_longest then
                text_of_longest = format(of_longest < most_long and '%d' or '%.0f', of_longest)
                if of_longest < most_converted then
                    converted[of_longest] = text_of_longest
                end
            end
            local grant
            if lease > 0 then
                granted_text = granted_text or format('%.0f:%s:', now, ARGV[5])
                local added = taken + lease
                local text_of_added = converted[added]
                if not text_of_added then
                    text_of_added = format(added < most_long and '%d' or '%.0f', added)
                    if added < most_converted then
                        converted[added] = text_of_added
                    end
                end
                grant = granted_text .. text_of_added
            end
            if lease == 0 and are_current then
                done = pcall('HSET', name, count1, text, count2, text_of_longest)
            elseif lease == 0 and not are_new then
                done = pcall('HSET', name, number1, text1, count1, text, count2, text_of_longest)
            elseif read[1] == node and are_current then
                done = pcall('HSET', name, count1, text, count2, text_of_longest, lease_field.kGrant, grant)
            elseif read[1] == node and not are_new then
                done = pcall('HSET', name, number1, text1, count1, text, count2, text_of_longest,
                             lease_field.kGrant, grant)
            elseif lease > 0 and read[2] and are_current then
                done = pcall('HSET', name, count1, text, count2, text_of_longest, lease_field.kGrant, grant,
                             lease_field.kNode, node, lease_field.kOfOther, read[2])
            else
                changes = changes or {false, false, false, false, false, false, false, false}
                changes[1], changes[2], changes[3], changes[4] = number1, text1, count1, text
                changes[5], changes[6], changes[7], changes[8] = number2, text2, count2, text_of_longest
                local n = 8
                if lease > 0 then
                    changes[9], changes[10] = lease_field.kGrant, grant
                    changes[11], changes[12] = lease_field.kNode, node
                    n = 12
                    if read[1] ~= node and read[2] then
                        changes[13], changes[14] = lease_field.kOfOther, read[2]
                        n = 14
                    end
                end
                done = pcall('HSET', name, unpack(changes, 1, n))
            end
            if done ~= 0 and type(done) == 'table' then
                failure = done
            elseif are_new then
                expire = expire or rare('expire')
                failure = expire(name, read, first, 2, 2, current2, true, months, now)
            end
            if not failure then
                if is_shown and lease == wanted then
                    reply[size + 1], reply[size + 2], reply[size + 3] = -2, units, of_longest
                    size = size + 3
                else
                    reply[size + 1], is_shown = count, true
                    if wanted > 0 then
                        size = size + 1
                        reply[size + 1] = lease
                    end
                    if bans then
                        reply[size + 2], reply[size + 3], reply[size + 4] = 0, 0, 0
                        size = size + 3
                    end
                    reply[size + 2], reply[size + 3] = current1, units
                    reply[size + 4], reply[size + 5] = current2, of_longest
                    size = size + 5
                end
                if levels then
                    notify = notify or rare('notify')
                    notify(levels, first, 1, quota - 1, {current1, units, current2, of_longest}, 0, now,
                           taken + lease, settles, nil, nil, months)
                end
            end
            key, plain = quota + others, 'decided'
        end
    end
end
--)lua"_lua
