--R"lua(
-- Decides requests of many ids. Each request is decided in every window of every table of its id at once.
--
-- KEYS  for each id, one after the other: id:{ID} if it has one of the next two and is in no group; ban:{ID} if the id
--       can be banned; history:{ID} if one of its tables keeps a history; one quota:{ID}:TABLE, or quota:{ID}:TABLE:VALUE,
--       per table; and one report:{ID}:TABLE:NODE:LAYOUT, or report:{ID}:TABLE:VALUE:NODE:LAYOUT, per table whose
--       adjustments are a report. After all ids the stream of notices, if one of their tables has levels; and the sets of
--       subjects and of their ends, if there is this stream, a ban or a history. Of an id in a group, {GROUP}ID is in place
--       of {ID}; that of the group itself is quota:{GROUP}:TABLE:group
-- ARGV  1        a token, which is returned
--       2        the index in ARGV of the first id
--       3        the deadline in ms: nothing is decided after it, because the node no longer waits; 0: none
--       4        the node
--       5...     terms, which ids may share:
--                  the cost of a request; 0 takes nothing
--                  the number of strikes that cause a ban; or 0 for no bans, and the next four are omitted:
--                    the time within which they must occur, the first ban, the longest ban, in ms; 1: a refusal is a strike
--                  the number of tables; per table:
--                    the number of its windows, negative if they slide
--                    for how many days it keeps a history of its window of one day, or 0; and after it, each with a
--                      space before it, the levels that are noticed, in per cent of a limit, ascending
--                    per window, ascending, its limit and its length in ms; 0: a calendar month in UTC; or, of a bucket,
--                      BURST:TOKEN, where a token is a debt of the period in us, and its rate, negative
--                    per window its fields, as window_field() names them: of the number, the count and, if it slides,
--                      the previous count; of a bucket, those of the time, the debt and, if windows slide, any other
--       ...      ids: the index in ARGV of its terms, the number of requests, and one of: 0; -N, if the next N ids have the
--                  same terms and number of requests, are not listed, and none of them has further arguments; 1 and the
--                  units wanted as a lease by this id and by the next ones, which are alike, too: numbers of 8 bytes each,
--                  packed into a string; or how many further arguments follow, at least 2:
--                  the units wanted as a lease, and the strikes that are not counted yet, STRIKES:AGE, with the time since
--                    the first of them in ms; or 0
--                  optionally the number of its report keys and, per table: the number of the node's report, which is
--                    applied once, or 0;
--                    per window: its number, the units to add to it, and to the previous window if it slides; the
--                      units of a bucket are debt
--
-- Returns  the token; numbers of 8 bytes each, packed into a string; the errors of the ids that have one; and optionally
--          further numbers, packed like the first.
--          The numbers are the time in us and, unless the deadline has passed, for each id -1 if it has an error; else
--            the requests granted; if a lease is wanted, the lease;
--            if bans are counted, the requests limited, the end of the ban in ms or 0, and the strikes so far;
--            per window its number, its count and, if it slides, the count of the previous window; of a bucket, its
--              time in us, its debt and, if windows slide, 0;
--            or -2 and the counts: all requests are granted, with the lease that is wanted, and the numbers of the windows
--              are those of the last id that has numbers.
--          The further numbers are, for each table that another node has leased units of and that has too few units left
--          for one more request: the id and the table, counted from 1, the time of that node's last lease in ms, and the
--          time when it was recalled, or 0.
--
-- The hash of a table has for each window the number of the last counted window, its count and, if it slides, the count
-- of the previous window; for each bucket what it lacked to be full, and when (see quota/bucket.hpp); and the node that got
-- the last lease, its time, the time of the last lease of any other node, and when the leases were last recalled. If the
-- table keeps a history, the last day remains in this hash until an acquire of a later day moves its count to the hash of
-- the history. Adjustments of a day that was moved change the history. If levels are noticed, it has for each window that
-- reached one the number of the window and the levels that have an entry in the stream, each with the highest limit.

-- Each call allocates its functions, upvalues and tables again. Therefore one loop decides, and rare() has what few calls
-- need. Tables begin with enough elements for one id, because growth allocates again. Comparisons and arithmetic replace
-- functions of `math` where every id would call them.

-- Returns the function of this name. It is created when a call first needs it. It has no upvalues: it uses parameters
-- and globals, and precedes all local names.
local function rare(which)
    if which == 'read_ban' then
        -- Returns the ban of an id, or nil and Redis's error.
        return function(name, terms, now)
            local values = redis.pcall('HMGET', name, ban_field.kStrikes, ban_field.kSince,
                                       ban_field.kLevel, ban_field.kUntil)
            if values.err then
                return nil, values
            end
            local ban = {
                name = name,
                strikes = tonumber(values[1]) or 0,
                since = tonumber(values[2]) or 0,
                level = tonumber(values[3]) or 0,
                ends = tonumber(values[4]) or 0,
            }
            if now - ban.since >= ARGV[terms + 2] + 0 then
                ban.strikes = 0
            end
            ban.stands = ban.ends > now
            if now >= ban.ends + ARGV[terms + 4] then
                ban.level = 0
            end
            return ban
        end
    elseif which == 'strike' then
        -- Counts the pending strikes, then the refusals. The refusal that completes a ban is itself banned. A new ban is
        -- announced, so that nodes use no lease of the id any more; an ACL may forbid it. Returns the number of refusals
        -- that are only limited, or nil and Redis's error.
        return function(ban, terms, now, pending, age, refused)
            local strikes = ARGV[terms + 5] == '1' and refused or 0
            if pending + strikes == 0 then
                return refused
            end
            if ban.strikes == 0 then
                ban.since = now
            end
            if pending > 0 then
                ban.since = math.min(ban.since, now - age)
            end
            local limited, missing = refused, ARGV[terms + 1] - ban.strikes - pending
            ban.strikes = ban.strikes + pending + strikes
            if strikes >= missing then
                limited = math.max(missing - 1, 0)
                ban.stands = true
                ban.ends = now + math.min(ARGV[terms + 3] * 2 ^ ban.level, ARGV[terms + 4] + 0)
                ban.level = ban.level + 1
                ban.strikes = 0
            end
            local done = redis.pcall('HSET', ban.name, ban_field.kStrikes, ban.strikes, ban_field.kSince, ban.since,
                                     ban_field.kLevel, ban.level, ban_field.kUntil, ban.ends)
            if type(done) == 'table' then
                return nil, done
            end
            if ban.stands then
                local prefix, tag, id = ban.name:match('^(.*)' .. kBanKey .. '{(.*)}(.*)')
                redis.pcall('PUBLISH', prefix .. kEventsKey, kBanKey .. (id == '' and tag or id))
            end
            -- Another table's ban may need the entry for longer.
            local expires = math.max(ban.since + ARGV[terms + 2], ban.level > 0 and ban.ends + ARGV[terms + 4] or 0)
            if expires > now + redis.call('PTTL', ban.name) then
                redis.call('PEXPIREAT', ban.name, expires)
            end
            return limited
        end
    elseif which == 'recall' then
        -- Asks the other nodes to return the units of a table that they lease. The last of these leases was granted at
        -- `leased_at`, and the leases were last recalled at `recalled`: a lease is recalled once. `at` is the index of
        -- the table's terms, and its windows follow reply[last]. Nothing is recalled if the units would not help a full
        -- window, or if one resets within a second. Returns the time of the recall; 0 if there is none.
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
                    if leased_at < from or (length > 0 and width == 2 and ends <= now + 1000) then
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
    elseif which == 'month' then
        -- Returns the number of the calendar month in UTC, 0 for January 1970, and its end in ms.
        return function(now)
            -- Begins with a month to come. By the mean length of a month, the number is wrong by one at most.
            local month, begins, ends = 3 + (now - now % 2629746000) / 2629746000
            repeat
                month, ends = month - 1, begins
                -- The days of the years since March of the year 0, and of the months since March. 719468 days precede 1970.
                -- A leap day is the last day of such a year.
                local months = month + 23638
                local year, of_year = (months - months % 12) / 12, months % 12
                local days = 365 * year + (year - year % 4) / 4 - (year - year % 100) / 100 + (year - year % 400) / 400
                days = days + (153 * of_year + 2 - (153 * of_year + 2) % 5) / 5 - 719468
                begins = days * 86400000
            until begins <= now
            return month, ends
        end
    elseif which == 'adjust' then
        -- Adjusts a window, which counts `units` in the window `number` and `before` in the one before it: by the units `by`
        -- of the window `adjusted`, and by `by_before` of the one before that. What belongs to ended days of a history is
        -- appended to values.past. Returns the new units, and the new units before.
        return function(values, keeps_history, slides, number, units, before, adjusted, by, by_before)
            if keeps_history then
                local past = values.past or {}
                if adjusted ~= number and by ~= 0 then
                    past[#past + 1] = adjusted
                    past[#past + 1] = by
                end
                if by_before ~= 0 then
                    past[#past + 1] = adjusted - 1
                    past[#past + 1] = by_before
                end
                if #past > 0 then
                    values.past, values.adjusted = past, true
                end
            end
            if adjusted == number then
                values.adjusted, units, before = true, units + by, before + by_before
            elseif adjusted == number - 1 and slides then
                values.adjusted, before = true, before + by
            end
            return units > 0 and units or 0, before > 0 and before or 0
        end
    elseif which == 'refill' then
        -- Refills a bucket, which had this debt at `time`, with `bucket.rate` for each us until `now`. A clock that went
        -- back gives no tokens; a time that is more than a minute ahead is that of a wrong clock. Adds `by`, which may be
        -- negative. Notes in values.fills how many ms the bucket may take to be full. Returns its time, its debt and the
        -- tokens that are left.
        return function(values, bucket, time, debt, now, by)
            if not time or time - now > 60000000 then
                time = now
            elseif time < now then
                debt, time = debt - (now - time) * bucket.rate, now
                debt = debt > 0 and debt or 0
            end
            debt = math.max(0, math.min(debt + by, 9000000000000000))
            values.fills = math.max(values.fills or 0, math.ceil(math.max(debt, bucket.empty) / bucket.rate / 1000))
            return time, debt, math.floor((bucket.empty - debt) / bucket.token)
        end
    elseif which == 'add_to_history' then
        -- Drops the days of a table that its history `name` no longer keeps, and adds those in `past`: each day and its
        -- units. They are added last: if a command is refused, the next acquire does all of it again. Returns Redis's
        -- error, if any.
        return function(name, quota, past, kept, now)
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
                redis.call('HDEL', name, unpack(dropped))
            end
            for n = 1, #past, 2 do
                local day = past[n]
                if day >= today - kept then
                    local done = redis.pcall('HINCRBY', name, table_name .. day, past[n + 1])
                    if type(done) == 'table' then
                        return done
                    end
                    last = math.max(last, day)
                end
            end
            local ends = (last + 1 + kept) * 86400000
            if ends > now + redis.call('PTTL', name) then
                redis.call('PEXPIREAT', name, ends)
            end
        end
    elseif which == 'notify' then
        -- Appends an entry to the stream of notices for each level that a window has reached and that has no entry yet
        -- with this limit or a higher one. What Redis refuses is tried again by the next acquire. `levels` has those of a
        -- table by the index of its terms. The terms of the first table are at `at`, its hash is KEYS[key + 1], and its
        -- windows follow reply[last].
        return function(levels, at, tables, key, reply, last, now)
            -- Whether one of the pairs LEVEL/LIMIT in `marks` has this level and this limit, or higher ones. Nodes may have
            -- different limits for a while: the limit of a level only rises, so that they do not take turns.
            local function is_noticed(marks, level, limit)
                for of_level, of_limit in marks:gmatch('(%d+)/(%d+)') do
                    if of_level + 0 >= level and of_limit + 0 >= limit then
                        return true
                    end
                end
            end
            -- Returns the new marks of the window.
            local function note(name, period, number, level, limit, used, marks)
                local tag, id, of_table, value = name:match(kQuotaKey .. '{(.*)}([^:]*):([^:]*):?(.*)')
                id = id ~= '' and id or tag
                local stream, text = KEYS[#KEYS - 2], ('%.0f'):format(number)
                local done = redis.pcall('XADD', stream, 'MAXLEN', '~', 100000, '*', notice_field.kId, id,
                                         notice_field.kTable, of_table, notice_field.kValue, value,
                                         notice_field.kPeriod, period, notice_field.kNumber, text,
                                         notice_field.kLevel, level, notice_field.kLimit, limit, notice_field.kUsed, used)
                if type(done) == 'table' then
                    return marks
                end
                redis.pcall('PEXPIREAT', stream, now + 604800000)
                local kept = ('%d/%.0f'):format(level, limit)
                for of_level, of_limit in marks:gmatch('(%d+)/(%d+)') do
                    if of_level + 0 > level or of_limit + 0 > limit then
                        kept = kept .. ' ' .. of_level .. '/' .. of_limit
                    end
                end
                redis.pcall('HSET', name, period .. '.' .. window_part.kNoticed, text .. ':' .. kept)
                return kept
            end
            for t = 1, tables do
                local windows, width = ARGV[at], 2
                if windows < 0 then
                    windows, width = -windows, 3
                end
                local fields, name = at + 2 + 2 * windows, KEYS[key + t]
                for window = 0, windows - 1 do
                    local limit, length = ARGV[at + 2 + 2 * window], ARGV[at + 3 + 2 * window]
                    local number, used = reply[last + 1], reply[last + 2]
                    if width == 3 and length > 0 then
                        used = used + math.ceil(reply[last + 3] * math.max(0, math.min(1, number + 1 - now / length)))
                    end
                    if levels[at] and length >= 0 and used * 100 >= limit * levels[at][1] then
                        local period = ARGV[fields + window * width]:match('[^.]*')
                        local noticed = redis.pcall('HMGET', name, period .. '.' .. window_part.kNoticed)[1]
                        local of, marks = tostring(noticed):match('^(%d+):(.*)')
                        marks = tonumber(of) == number and marks or ''
                        for _, level in ipairs(levels[at]) do
                            if used * 100 >= limit * level and not is_noticed(marks, level, limit) then
                                marks = note(name, period, number, level, limit, used, marks)
                            end
                        end
                    end
                    last = last + width
                end
                at = fields + windows * width
            end
        end
    elseif which == 'enlist' then
        -- Lists an id until the time `ends` if it has no key: no other list has it then. Removes some ids whose time has
        -- ended. `digests` is the set of the keys of the id. An ACL may forbid it.
        return function(digests, ends, now)
            if redis.pcall('EXISTS', digests) ~= 0 then
                return
            end
            local list, times, id = KEYS[#KEYS - 1], KEYS[#KEYS], digests:match('{(.*)}')
            for _, other in ipairs(redis.pcall('ZRANGEBYSCORE', times, '-inf', now, 'LIMIT', 0, 10)) do
                redis.pcall('ZREM', list, other)
                redis.pcall('ZREM', times, other)
            end
            if (tonumber(redis.pcall('ZSCORE', times, id)) or 0) >= ends then
                return
            end
            for name, score in pairs({[list] = 0, [times] = ends}) do
                redis.pcall('ZADD', name, score, id)
                if redis.call('PTTL', name) < ends - now then
                    redis.call('PEXPIREAT', name, ends)
                end
            end
        end
    elseif which == 'expire' then
        -- Writes the number of the report that was applied to a table, and when its hash `name` expires. `at` is the
        -- index of its terms, `number` that of the longest window, `new` is true if this window is.
        return function(name, values, at, windows, width, number, new, month, month_ends, now)
            local length = ARGV[at + 1 + 2 * windows]
            local window_ends = length > 0 and (number + 1) * length
                                or month_ends + (number - month) * 2678400000
            -- A sliding window counts until the next one ends.
            local ends = window_ends + (width - 2) * length
            for argument = at + 3, at + 2 * windows - 1, 2 do
                -- A shorter window that does not divide the longest one may end after it.
                local shorter = ARGV[argument]
                if shorter == 0 then
                    ends = math.max(ends, window_ends + 2678400000)
                elseif shorter > 0 and (length > 0 and length or 86400000) % shorter > 0 then
                    ends = math.max(ends, window_ends + (width - 1) * shorter)
                end
            end
            if values.report then
                -- Expires when Redis takes no adjustment of the report any more. The node sends none of a day that ended
                -- more than a week ago.
                redis.call('HSET', KEYS[values.marker], kReportNumber, values.report)
                redis.call('PEXPIREAT', KEYS[values.marker],
                           ARGV[at + 1] == '0' and ends or math.max(ends, now + 8 * 86400000))
            end
            if values.day then
                -- The last day of an id that does not return is kept as long as the history.
                ends = math.max(ends, (values.day + 1 + ARGV[at + 1]) * 86400000)
            end
            -- Only if the longest window is new, or a bucket is not full by then. The key keeps a later expiry, which a
            -- longer window of the id's previous plan has set.
            local expires = now + redis.call('PTTL', name)
            if values.fills and expires < now + values.fills then
                new, ends = true, math.max(ends, now + 2 * values.fills)
            end
            if (new or values.day) and ends > expires then
                redis.call('PEXPIREAT', name, ends)
            end
        end
    end
end

local KEYS, ARGV, pcall, tonumber, unpack, format = KEYS, ARGV, redis.pcall, tonumber, unpack, string.format
local node = ARGV[4]

local time = redis.call('TIME')
local seconds, microseconds = time[1] + 0, time[2] + 0
local now = seconds * 1000 + (microseconds - microseconds % 1000) / 1000
local reply, size, errors, leased = {seconds * 1000000 + microseconds, 0, 0, 0, 0, 0, 0, 0, 0}, 1, nil, nil

if ARGV[3] ~= '0' and now > ARGV[3] + 0 then
    return {ARGV[1], struct.pack('<i8', reply[1])}
end

-- The terms of the last id: `known` is their index as in ARGV, and `first` the index of the first of their tables.
-- `keeps` is true if one of the tables keeps a history. `count` is the number of requests. `buckets` has by the index of
-- its limit in ARGV the rate, the debt of a token and the debt of an empty bucket; nil if these terms have no bucket.
local known, terms, cost, bans, first, tables, keeps, count, buckets
-- The number of ids that follow and are like the last one; the units that these ids want as leases, nil if they want none;
-- and which of them belongs to the last one.
local alike, leases, nth_lease = 0, nil, 1
-- The most frequent terms are those of one table with two fixed windows. Of these, the names of the fields, the limits, the
-- numbers of the current windows, and these as texts. number1 is nil for other terms.
local number1, count1, number2, count2, limit1, limit2, current1, current2, text1, text2
-- Whether the last id that has numbers in the reply has those of the current windows of these terms.
local is_shown
-- Per window of these terms: the number of the current window; and the text that Redis has for it, or 0 if that is
-- not known.
local current = {0, 0, 0, 0}
-- The current calendar month, see rare(); nil until a window needs it.
local month, month_ends
-- Functions of rare(); nil until they are needed.
local read_ban, strike, recall, adjust, add_to_history, expire, refill, notify, enlist
-- The levels of the tables that have some, by the index of their terms; nil if none has.
local levels

-- Per table of the current id: the values of HMGET, where the number of each window is replaced by whether it must be
-- written, and the time of a bucket by the debt of a token. `fills` is the time in ms in which its buckets become full. If
-- a lease is wanted, the node and the time of the last lease precede them. `adjusted` is true if an adjustment changed the
-- table. `report` is the number to write into KEYS[marker], if any. If the table keeps a history, `day` is the number of a
-- day that is new, and `past` has the units that are added to the history: each day and its units.
local found = {false}
-- The arguments of HSET, where they differ from id to id.
local changes
-- Conversions of small counts: the number of a text, and the text of a number. Each takes as long as about fifty other
-- operations. In many calls most ids have few different ones; larger counts are seldom alike.
local converted, most_converted = {}, 1000
-- '%d' takes half as long as '%.0f', and a C long, which may have 32 bits.
local most_long = 2147483648
-- The time `now` as a text; nil until a lease needs it.
local now_text

local nth, key, id, ids_end = 0, 0, ARGV[2] + 0, #ARGV
while alike > 0 or id < ids_end do
    local further, wanted, pending, age, reports, adjustments = 0, 0, 0, 0, 0, nil
    local read, plain
    nth = nth + 1
    if alike > 0 then
        alike, plain = alike - 1, number1
        if leases then
            nth_lease = nth_lease + 1
            wanted = leases[nth_lease]
        end
    else
        -- To convert a string to a number takes as long as about ten other operations. Therefore 1, the usual number of
        -- requests, is compared as a string; and terms are converted in place, once, because most ids share them.
        count = ARGV[id + 1] == '1' and 1 or ARGV[id + 1] + 0
        if ARGV[id] ~= known then
            known = ARGV[id]
            terms = known + 0
            cost, bans, first = ARGV[terms] + 0, ARGV[terms + 1] ~= '0', terms + 2
            if bans then
                first = terms + 6
            end
            tables, first, keeps, buckets = ARGV[first] + 0, first + 1, false, nil
            local at, window = first, 0
            for _ = 1, tables do
                local windows, width = ARGV[at] + 0, 2
                ARGV[at] = windows
                if windows < 0 then
                    windows, width = -windows, 3
                end
                if ARGV[at + 1] ~= '0' then
                    local days, noticed = tostring(ARGV[at + 1]):match('(%d+)(.*)')
                    if noticed ~= '' then
                        levels, notify = levels or {}, notify or rare('notify')
                        levels[at] = {}
                        for level in noticed:gmatch('%d+') do
                            levels[at][#levels[at] + 1] = level + 0
                        end
                    end
                    ARGV[at + 1], keeps = days == '0' and days or days + 0, keeps or days ~= '0'
                end
                for argument = at + 2, at + 2 * windows, 2 do
                    local length = ARGV[argument + 1] + 0
                    if length >= 0 then
                        ARGV[argument] = ARGV[argument] + 0
                    end
                    ARGV[argument + 1] = length
                    if length > 0 then
                        current[window + 1] = (now - now % length) / length
                    elseif length < 0 then
                        local burst, token = ARGV[argument]:match('(%d+):(%d+)')
                        buckets = buckets or {}
                        buckets[argument] = {rate = -length, token = token + 0, empty = burst * token}
                        current[window + 1] = false
                    else
                        if not month then
                            month, month_ends = rare('month')(now)
                        end
                        current[window + 1] = month
                    end
                    current[window + 2] = 0
                    window = window + 2
                end
                at = at + 2 + windows * (2 + width)
            end
            number1, is_shown = nil, false
            if tables == 1 and ARGV[first] == 2 and cost > 0 and not buckets then
                limit1, limit2 = ARGV[first + 2], ARGV[first + 4]
                number1, count1, number2, count2 = unpack(ARGV, first + 6, first + 9)
                current1, current2 = current[1], current[3]
                text1 = format(current1 < most_long and '%d' or '%.0f', current1)
                text2 = format(current2 < most_long and '%d' or '%.0f', current2)
                current[2], current[4] = text1, text2
            end
        end
        local more = ARGV[id + 2]
        id = id + 3
        if more == '0' then
            plain = number1
        else
            further = more + 0
            if further < 0 then
                alike, leases, further, plain = -further, nil, 0, number1
            elseif further == 1 then
                alike, plain = #ARGV[id] / 8, number1
                leases, nth_lease = {struct.unpack(alike == 1 and '<i8' or '<' .. ('i8'):rep(alike), ARGV[id])}, 1
                alike, wanted = alike - 1, leases[1]
            else
                wanted = ARGV[id] + 0
                if ARGV[id + 1] ~= '0' then
                    pending, age = ARGV[id + 1]:match('(%d+):(%d+)')
                    pending, age = pending + 0, age + 0
                end
                if further > 2 then
                    reports, adjustments = ARGV[id + 2] + 0, id + 3
                end
            end
        end
    end

    -- Decides the most frequent requests: of the most frequent terms, of an id that has no ban and no strike, in windows
    -- that Redis has or that are new, with units left for one more request. What it does not decide, the rest of the loop
    -- does, with the same values.
    local quota = key + 1
    if plain and (bans or keeps) then
        if KEYS[quota]:byte(-1) == 125 then  -- See `digests`.
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
            read = pcall('HMGET', name, lease_field.kNode, lease_field.kTime, number1, count1, number2, count2)
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
        elseif keeps or read.err or not (number or are_new) or number and (tonumber(number) or current1) >= current1
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
                if lease > 0 then
                    now_text = now_text or format('%.0f', now)
                end
                if lease == 0 and are_current then
                    done = pcall('HSET', name, count1, text, count2, text_of_longest)
                elseif lease == 0 and not are_new then
                    done = pcall('HSET', name, number1, text1, count1, text, count2, text_of_longest)
                elseif read[1] == node and are_current then
                    done = pcall('HSET', name, count1, text, count2, text_of_longest, lease_field.kTime, now_text)
                elseif read[1] == node and not are_new then
                    done = pcall('HSET', name, number1, text1, count1, text, count2, text_of_longest,
                                 lease_field.kTime, now_text)
                elseif lease > 0 and read[2] and are_current then
                    done = pcall('HSET', name, count1, text, count2, text_of_longest, lease_field.kTime, now_text,
                                 lease_field.kNode, node, lease_field.kOfOther, read[2])
                else
                    changes = changes or {false, false, false, false, false, false, false, false}
                    changes[1], changes[2], changes[3], changes[4] = number1, text1, count1, text
                    changes[5], changes[6], changes[7], changes[8] = number2, text2, count2, text_of_longest
                    local n = 8
                    if lease > 0 then
                        changes[9], changes[10] = lease_field.kTime, now_text
                        changes[11], changes[12] = lease_field.kNode, node
                        n = 12
                        if read[1] ~= node and read[2] then
                            changes[13], changes[14] = lease_field.kOfOther, read[2]
                            n = 14
                        end
                    end
                    done = pcall('HSET', name, unpack(changes, 1, n))
                end
                if done == 0 or type(done) ~= 'table' then
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
                    if are_new then
                        expire = expire or rare('expire')
                        expire(name, read, first, 2, 2, current2, true, month, month_ends, now)
                    end
                    if levels then
                        notify(levels, first, 1, quota - 1, {current1, units, current2, of_longest}, 0, now)
                    end
                else
                    size = size + 1
                    reply[size] = -1
                    errors = errors or {}
                    errors[#errors + 1] = done
                end
                key, plain = quota, 'decided'
            end
        end
    end
    if plain ~= 'decided' then
        is_shown = false
        local start, granted, ban, failure = size + 1, count, nil, nil
        if wanted > 0 then
            start = size + 2
        end
        -- The set of the keys of an id that is in no group: the names of others do not end with `}`.
        local digests
        if (bans or keeps) and KEYS[key + 1]:byte(-1) == 125 then
            key, digests = key + 1, KEYS[key + 1]
        end
        if bans then
            key, start = key + 1, start + 3
            read_ban = read_ban or rare('read_ban')
            ban, failure = read_ban(KEYS[key], terms, now)
            if ban and ban.stands then
                granted = 0
            end
        end

        if keeps then
            key = key + 1
        end

        -- Reads the windows, and stores their current state after reply[start]. `granted` becomes how many requests fit;
        -- `left` is the number of units left in the fullest window.
        local left, marker, at, last, window, moves = math.huge, key + tables, first, start, 0, false
        if not failure then
            for t = 1, tables do
                local windows, width = ARGV[at], 2
                if windows < 0 then
                    windows, width = -windows, 3
                end
                local fields, value, values = at + 2 + 2 * windows, 1
                local after = fields + windows * width
                if wanted > 0 then
                    value = 3
                end
                if read then
                    values = read
                elseif wanted > 0 then
                    values = pcall('HMGET', KEYS[key + t], lease_field.kNode, lease_field.kTime,
                                   unpack(ARGV, fields, after - 1))
                else
                    values = pcall('HMGET', KEYS[key + t], unpack(ARGV, fields, after - 1))
                end
                if values.err then
                    failure = values
                    break
                end
                found[t] = values
                local applies = adjustments
                if adjustments then
                    local report = ARGV[adjustments]
                    adjustments = adjustments + 1
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
                end
                for argument = at + 2, fields - 1, 2 do
                    local room, number, units, before = ARGV[argument], values[value], tonumber(values[value + 1]) or 0, 0
                    local now_number, new, bucket, owed = current[window + 1], false, nil, 0
                    if width == 3 then
                        before = tonumber(values[value + 2])
                        new = not before
                        before = before or 0
                    end
                    -- An earlier id usually had the same number. Then its text is compared, and not converted.
                    if number == current[window + 2] then
                        number = now_number
                    else
                        number = tonumber(number)
                        if not now_number then
                            bucket, before = buckets[argument], 0
                        elseif number == now_number then
                            -- The most frequent terms store the text, which is not to be another program's.
                            current[window + 2] = number1 and current[window + 2] or values[value]
                        else
                            -- A future window was counted before the clock went back (a failover). It is kept if it is at
                            -- most one minute or one window ahead. One that is further ahead was counted with a wrong
                            -- clock.
                            local ahead, length = (number or -2) - now_number, ARGV[argument + 1]
                            if ahead ~= 1 and not (ahead > 1 and length > 0 and number * length - now <= 60000) then
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
                    end
                    if bucket then
                        refill = refill or rare('refill')
                        number, units, room = refill(values, bucket, number, units, reply[1], owed)
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
                        local part = elapsed > 0 and before * (length - elapsed) / length or before
                        room = room - math.ceil(part)
                    end
                    last = last + width
                    if cost > 0 and room < granted * cost then
                        granted = room > 0 and (room - room % cost) / cost or 0
                    end
                    if room < left then
                        left = room
                    end
                end
                at = after
            end
        end

        local lease, taken = 0, granted * cost
        if not failure then
            if wanted > 0 and granted == count and not (ban and ban.stands) then
                local rest = left - taken
                if rest >= 8 * wanted then
                    lease = wanted
                elseif rest > 0 then
                    lease = (rest - rest % 8) / 8
                end
            end

            local added = taken + lease
            if moves and (added > 0 or adjustments) then
                at = first
                for t = 1, tables do
                    local past, windows, width = found[t].past, ARGV[at], 2
                    if windows < 0 then
                        windows, width = -windows, 3
                    end
                    if past and (added > 0 or found[t].adjusted) then
                        add_to_history = add_to_history or rare('add_to_history')
                        failure = add_to_history(KEYS[key], KEYS[key + t], past, ARGV[at + 1], now)
                        if failure then
                            break
                        end
                    end
                    at = at + 2 + windows * (2 + width)
                end
            end

            -- Adds what is taken, and writes the windows that this or an adjustment changed.
            if not failure and (added > 0 or adjustments) then
                at, last = first, start
                for t = 1, tables do
                    local windows, width = ARGV[at], 2
                    if windows < 0 then
                        windows, width = -windows, 3
                    end
                    local values, field, new, n = found[t], at + 2 + 2 * windows, false, 0
                    local after = field + windows * width
                    local adjusted = adjustments and values.adjusted
                    if added > 0 or adjusted then
                        local name, done = KEYS[key + t]
                        if windows == 2 and width == 2 and wanted == 0 and not (values[1] or values[3]) then
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
                                local is_bucket = new and new ~= true
                                local units = reply[last + 2] + (is_bucket and added * new or added)
                                reply[last + 2] = units
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
                            if lease > 0 then
                                if values[1] ~= node then
                                    if values[1] then
                                        changes[n + 1], changes[n + 2] = lease_field.kOfOther, values[2]
                                        n = n + 2
                                    end
                                    changes[n + 1], changes[n + 2] = lease_field.kNode, node
                                    n = n + 2
                                end
                                changes[n + 1], changes[n + 2] = lease_field.kTime, now
                                n = n + 2
                            end
                            done = pcall('HSET', name, unpack(changes, 1, n))
                        end
                        if type(done) == 'table' then
                            failure = done
                            break
                        end
                        if new or (adjustments and values.report) or (keeps and values.day)
                           or (buckets and values.fills) then
                            expire = expire or rare('expire')
                            expire(name, values, at, windows, width, reply[last - width + 1], new, month, month_ends, now)
                            if digests and values.day and not name:find(':group', -6, true) then
                                enlist = enlist or rare('enlist')
                                enlist(digests, (values.day + 1 + ARGV[at + 1]) * 86400000, now)
                            end
                        end
                    else
                        last = last + windows * width
                    end
                    at = after
                end
            end
            -- Too few units are left for one more request: the leases of other nodes are recalled.
            if not failure and left - taken < cost and not (ban and ban.stands) then
                at, last = first, start
                for t = 1, tables do
                    local windows, width = ARGV[at], 2
                    if windows < 0 then
                        windows, width = -windows, 3
                    end
                    local values = redis.call('HMGET', KEYS[key + t], lease_field.kNode, lease_field.kTime,
                                              lease_field.kOfOther, lease_field.kRecalled)
                    local leased_at = tonumber(values[values[1] == node and 3 or 2])
                    if leased_at and leased_at <= now then
                        recall = recall or rare('recall')
                        leased = leased or {}
                        local n = #leased
                        leased[n + 1], leased[n + 2], leased[n + 3] = nth, t, leased_at
                        leased[n + 4] = recall(KEYS[key + t], leased_at, tonumber(values[4]) or 0, now, at, reply, last,
                                               cost)
                    end
                    at, last = at + 2 + windows * (2 + width), last + windows * width
                end
            end
        end

        if levels and not failure then
            notify(levels, first, tables, key, reply, start, now)
        end
        reply[size + 1] = granted
        if wanted > 0 then
            reply[size + 2] = lease
        end
        if ban then
            local limited = 0
            if not ban.stands and not failure then
                strike = strike or rare('strike')
                limited, failure = strike(ban, terms, now, pending, age, count - granted)
                if digests and ban.stands and not failure then
                    enlist = enlist or rare('enlist')
                    enlist(digests, ban.ends, now)
                end
            end
            reply[start - 2], reply[start - 1], reply[start] = limited, ban.stands and ban.ends or 0, ban.strikes
        end
        if failure then
            last = size + 1
            reply[last] = -1
            errors = errors or {}
            errors[#errors + 1] = failure
        end
        key, size = key + tables + reports, last
    end
    id = id + further
end

-- To make a format takes as long as about a hundred operations. The first three are those of one id in two fixed windows:
-- without a lease, with one, and with bans.
local layout = size == 6 and '<i8i8i8i8i8i8' or size == 7 and '<i8i8i8i8i8i8i8' or size == 9 and '<i8i8i8i8i8i8i8i8i8'
               or '<' .. ('i8'):rep(size % 8) .. ('i8i8i8i8i8i8i8i8'):rep((size - size % 8) / 8)
local numbers = struct.pack(layout, unpack(reply, 1, size))
if not errors and not leased then
    return {ARGV[1], numbers}
end
errors = errors or {}
if leased then
    errors[#errors + 1] = struct.pack('<' .. ('i8'):rep(#leased), unpack(leased))
end
return {ARGV[1], numbers, unpack(errors)}
--)lua"_lua
