--R"lua(
-- Whether one of the marks LEVEL/LIMIT in `marks` has this level and this limit, or higher ones. Nodes may have different
-- limits for a while: the limit of a level only rises, so that they do not take turns. A mark LEVEL/LIMIT@TIME counts until
-- that time, in ms.
local function is_noticed(marks, level, limit, now)
    for of_level, of_limit, ends in marks:gmatch('(%d+)/(%d+)@?(%d*)') do
        if of_level + 0 >= level and of_limit + 0 >= limit and (ends == '' or now < ends + 0) then
            return true
        end
    end
end

-- Whether a mark with a time has this level and this limit, or higher ones. The caller knows that its time is over.
local function was_noticed(marks, level, limit)
    for of_level, of_limit in marks:gmatch('(%d+)/(%d+)@') do
        if of_level + 0 >= level and of_limit + 0 >= limit then
            return true
        end
    end
end

-- The marks, of which those of levels that the units are below again hold only until `ends`: requests have used less than
-- they took. A level is noticed again then, or later, if it is reached. The highest of the lower levels that are still
-- reached gets a mark of its own.
local function let_end(marks, levels, used, limit, ends)
    local left = marks:gsub('(%d+)/(%d+)(@?)', function(level, of_limit, at)
        if at == '' and of_limit + 0 == limit and used * 100 < limit * level then
            return ('%s/%s@%.0f'):format(level, of_limit, ends)
        end
    end)
    if left == marks then
        return marks
    end
    for n = #levels, 1, -1 do
        if used * 100 >= limit * levels[n] then
            return ('%s %d/%.0f'):format(left, levels[n], limit)
        end
    end
    return left
end

-- Appends an entry to the stream of notices. Returns the new marks of the window.
local function note(name, period, number, month_ends, level, limit, used, marks, now)
    local tag, id, of_table, value = name:match(kQuotaKey .. '{(.*)}([^:]*):([^:]*):?(.*)')
    id = id ~= '' and id or tag
    local stream, text = KEYS[#KEYS - 2], ('%.0f'):format(number)
    local entry = {notice_field.kId, id, notice_field.kTable, of_table, notice_field.kValue, value,
                   notice_field.kPeriod, period, notice_field.kNumber, text, notice_field.kLevel, level,
                   notice_field.kLimit, limit, notice_field.kUsed, used}
    if month_ends then
        entry[#entry + 1], entry[#entry + 2] = notice_field.kEnds, ('%.0f'):format(month_ends)
    end
    -- It is another notice than the one before, and tells so.
    if was_noticed(marks, level, limit) then
        entry[#entry + 1], entry[#entry + 2] = notice_field.kAgain, ('%.0f'):format(now)
    end
    local done = redis.pcall('XADD', stream, 'MAXLEN', '~', kMostNotices, '*', unpack(entry))
    if type(done) == 'table' then
        return marks
    end
    redis.pcall('PEXPIREAT', stream, now + kNoticesKept)
    local kept = ('%d/%.0f'):format(level, limit)
    for of_level, of_limit, ends in marks:gmatch('(%d+)/(%d+)(@?%d*)') do
        if of_level + 0 > level or of_limit + 0 > limit then
            kept = kept .. ' ' .. of_level .. '/' .. of_limit .. ends
        end
    end
    redis.pcall('HSET', name, period .. '.' .. window_part.kNoticed, text .. ':' .. kept)
    return kept
end

-- Notices each level that a window of an id has reached and that has no entry yet with this limit or a higher one. What
-- Redis refuses is tried again by the next acquire. `levels` has those of a table by the index of its terms. The terms of
-- the first table are at `at`, its hash is KEYS[key + 1], and its windows follow reply[last]. This acquire has
-- taken `taken` units of each of them, or so many times `costs`. Where the table settles, by `settled` or its element, they
-- are reserved for requests whose cost is known when they end: they are not used yet. `found` has the values of the
-- tables; nil if there is no report. A report may take units back that were reserved: a level that was noticed and is
-- not reached any more can be noticed again, after a tenth of the window. `months` has the current months by the index of
-- the limit of their window; nil if there are none.
return function(levels, at, tables, key, reply, last, now, taken, settled, found, costs, months)
    for t = 1, tables do
        local reserved = (costs and settled[t] or not costs and settled) and taken * (costs and costs[t] or 1) or 0
        local reported = found and (found[t].report or found[t].lost_time)
        local windows, width = ARGV[at], 2
        if windows < 0 then
            windows, width = -windows, 3
        end
        local fields, name = at + 2 + 2 * windows, KEYS[key + t]
        for window = 0, windows - 1 do
            local limit, length = ARGV[at + 2 + 2 * window], ARGV[at + 3 + 2 * window]
            local number, used = reply[last + 1], reply[last + 2] - reserved
            limit = levels[at] and levels[at].soft and levels[at].soft[window + 1] or limit
            if width == 3 and length > 0 then
                used = used + math.ceil(reply[last + 3] * math.max(0, math.min(1, number + 1 - now / length)))
            end
            if length == kBalanceLength + 0 then
                -- The levels are those of the last credit: at 80 % of it, a fifth of it is left. The sum of all credits is
                -- another number after each of them.
                local credits = redis.pcall('HMGET', name, kLastCredit, kCredited)
                local last_credit = tonumber(credits[1]) or 0
                number, limit, used = tonumber(credits[2]) or 0, last_credit, last_credit - (limit - used)
            end
            if levels[at] and length >= 0 and limit > 0 and (reported or used * 100 >= limit * levels[at][1]) then
                local period = ARGV[fields + window * width]:match('[^.]*')
                local month = months and months[at + 2 + 2 * window]
                local month_ends = month and select(2, month.at(number * 86400000))
                local noticed = redis.pcall('HMGET', name, period .. '.' .. window_part.kNoticed)[1]
                local of, marks = tostring(noticed):match('^(%d+):(.*)')
                marks = tonumber(of) == number and marks or ''
                if reported and marks ~= '' then
                    local left = let_end(marks, levels[at], used, limit, now + (length > 0 and length or 2592000000) / 10)
                    if left ~= marks then
                        marks = left
                        redis.pcall('HSET', name, period .. '.' .. window_part.kNoticed, of .. ':' .. marks)
                    end
                end
                for _, level in ipairs(levels[at]) do
                    if used * 100 >= limit * level and not is_noticed(marks, level, limit, now) then
                        marks = note(name, period, number, month_ends, level, limit, used, marks, now)
                    end
                end
            end
            last = last + width
        end
        at = fields + windows * width
    end
end
--)lua"_lua
