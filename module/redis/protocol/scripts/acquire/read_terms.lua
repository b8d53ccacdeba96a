--R"lua(
-- A part of the loop of acquire.lua: reads the terms of an id, which the next ids may share. Converts them to numbers, in
-- place.

known = ARGV[id]
terms = known + 0
if ARGV[terms]:find(',', 1, true) then
    costs, needs, settled, settles, cost, needed = {}, {}, {}, false, 1, 1
    for units, settling in ARGV[terms]:gmatch('(%d+)(s?)') do
        local t, of_table = #costs + 1, units + 0
        costs[t], settled[t] = of_table, settling ~= ''
        needs[t] = settled[t] and of_table == 0 and 1 or of_table
    end
else
    costs, settles = nil, ARGV[terms]:byte(-1) == 115
    cost = (settles and ARGV[terms]:sub(1, -2) or ARGV[terms]) + 0
    needed = settles and cost == 0 and 1 or cost
end
bans, first = ARGV[terms + 1] ~= '0', terms + 3
if bans then
    first = terms + 7
end
tables = ARGV[first - 1] + 0
local at, window, has_bucket, has_balance = first, 0, false, false
keeps, others = false, 0
for _ = 1, tables do
    local windows, width = ARGV[at] + 0, 2
    ARGV[at] = windows
    if windows < 0 then
        windows, width = -windows, 3
    end
    if ARGV[at + 1] ~= '0' then
        local days, values, noticed = tostring(ARGV[at + 1]):match('(%d+):?(%d*)(.*)')
        if values ~= '' then
            most_values = most_values or {}
            most_values[at] = values + 0
        end
        if noticed ~= '' then
            levels = levels or {}
            levels[at] = {}
            for level in noticed:match('[^;]*'):gmatch('%d+') do
                levels[at][#levels[at] + 1] = level + 0
            end
            for limit in noticed:gmatch(';(%d+)') do
                levels[at].soft = levels[at].soft or {}
                levels[at].soft[#levels[at].soft + 1] = limit + 0
            end
        end
        ARGV[at + 1], keeps = days == '0' and days or days + 0, keeps or days ~= '0'
    end
    if most_values and most_values[at] then
        others = others + 1
    end
    for argument = at + 2, at + 2 * windows, 2 do
        local length = ARGV[argument + 1] + 0
        has_balance = length == kBalanceLength + 0
        ARGV[argument + 1], current[window + 2] = length, has_balance and 'balance' or 0
        if length > 0 then
            ARGV[argument] = ARGV[argument] + 0
            current[window + 1] = (now - now % length) / length
        elseif length < 0 then
            local burst, token = ARGV[argument]:match('(%d+):(%d+)')
            current[window + 1], has_bucket = false, true
            current[window + 2] = {rate = -length, token = token + 0, empty = burst * token}
        else
            -- Terms may be read again, after those of other ids.
            months = months or {}
            if not months[argument] then
                read_month = read_month or rare('month')
                ARGV[argument], months[argument] = read_month(ARGV[argument], now)
            end
            current[window + 1] = months[argument].number
        end
        window = window + 2
    end
    at = at + 2 + windows * (2 + width)
end
number1, is_shown = nil, false
if tables == 1 and ARGV[first] == 2 and cost > 0 and not (has_bucket or has_balance) then
    limit1, limit2 = ARGV[first + 2], ARGV[first + 4]
    number1, count1, number2, count2 = unpack(ARGV, first + 6, first + 9)
    current1, current2 = current[1], current[3]
    text1 = format(current1 < most_long and '%d' or '%.0f', current1)
    text2 = format(current2 < most_long and '%d' or '%.0f', current2)
    current[2], current[4] = text1, text2
end
--)lua"_lua
