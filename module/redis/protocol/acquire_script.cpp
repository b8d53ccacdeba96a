#include <string_view>

#include "module/redis/protocol/schema.hpp"
#include "module/redis/protocol/script.hpp"

namespace tollgate::redis {

namespace {

// This script determines the cost of a request in Redis. Therefore it reads arguments in place
// (arithmetic converts them to numbers), ids share terms, windows are computed within the reply,
// and few tables and closures are created. The numbers of the reply are packed into one string,
// because hiredis allocates each element of an array.
constexpr std::string_view kText = R"lua(
-- Decides requests of many ids. Each request is decided in every window of every table of its id at once.
--
-- KEYS  for each id, one after the other: ban:{ID} if the id can be banned; one quota:{ID}:TABLE per table; and one
--       report:{ID}:TABLE:NODE per table whose adjustments are a report
-- ARGV  1        a token, which is returned
--       2        the index in ARGV of the first id
--       3        the deadline in ms: nothing is decided after it, because the node no longer waits; 0: none
--       4...     terms, which ids may share:
--                  the cost of a request; 0 takes nothing
--                  the number of strikes that cause a ban; or 0 for no bans, and the next four are omitted:
--                    the time within which they must occur, the first ban, the longest ban, in ms; 1: a refusal is a strike
--                  the number of tables; per table:
--                    the number of its windows, negative if they slide
--                    per window, ascending, its limit and its length in ms
--                    per window its fields, as window_field() names them: of the number, the count and, if it slides, the previous count
--       ...      ids: the index in ARGV of its terms, the number of requests, and how many further arguments follow (or 0):
--                  the units wanted as a lease, and the strikes that are not counted yet
--                  optionally the number of its report keys and, per table: the number of the node's report, which is
--                    applied once, or 0;
--                    per window: its number, the units to add to it, and to the previous window if it slides
--
-- Returns  the token; numbers of 8 bytes each, packed into a string; and the errors of the ids that have one.
--          The numbers are the time in us and, unless the deadline has passed, for each id -1 if it has an error; else
--            the requests granted; if a lease is wanted, the lease;
--            if bans are counted, the requests limited, the end of the ban in ms or 0, and the strikes so far;
--            per window its number, its count and, if it slides, the count of the previous window.
--
-- The hash of a table has for each window the number of the last counted window, its count and, if it slides, the count
-- of the previous window.

local KEYS, ARGV, pcall, tonumber, unpack = KEYS, ARGV, redis.pcall, tonumber, unpack
local floor, ceil, max, min = math.floor, math.ceil, math.max, math.min

local time = redis.call('TIME')
local now = time[1] * 1000 + floor(time[2] / 1000)
local reply, size, errors = {time[1] * 1000000 + time[2]}, 1, {}

if ARGV[3] ~= '0' and now > ARGV[3] + 0 then
    return {ARGV[1], struct.pack('<i8', reply[1])}
end

-- Returns the ban of an id, or nil and Redis's error.
local function read_ban(name, terms)
    local values = pcall('HMGET', name, $strikes, $since, $level, $until)
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
    return ban
end

-- Counts the pending strikes, then the refusals. The refusal that completes a ban is itself banned. Returns the number
-- of refusals that are only limited, or nil and Redis's error.
local function strike(ban, terms, pending, refused)
    local strikes = ARGV[terms + 5] == '1' and refused or 0
    if pending + strikes == 0 then
        return refused
    end
    if ban.strikes == 0 then
        ban.since = now
    end
    local limited, missing = refused, ARGV[terms + 1] - ban.strikes - pending
    ban.strikes = ban.strikes + pending + strikes
    if strikes >= missing then
        limited = max(missing - 1, 0)
        ban.stands = true
        ban.ends = now + min(ARGV[terms + 3] * 2 ^ ban.level, ARGV[terms + 4] + 0)
        ban.level = ban.level + 1
        ban.strikes = 0
    end
    local done = pcall('HSET', ban.name, $strikes, ban.strikes, $since, ban.since, $level, ban.level, $until, ban.ends)
    if type(done) == 'table' then
        return nil, done
    end
    redis.call('PEXPIREAT', ban.name, max(ban.since + ARGV[terms + 2], ban.level > 0 and ban.ends + ARGV[terms + 4] or 0))
    return limited
end

-- Per table of the current id: the values of HMGET, where the number of each window is replaced by whether it must be
-- written. `adjusted` is true if an adjustment changed the table. `report` is the number to write into KEYS[marker], if
-- any.
local found = {}

-- Reads the windows of the tables described at ARGV[at], whose keys follow KEYS[key], and stores their current state
-- after reply[last]. Returns how many requests fit, at most `count`; the units left in the fullest window; the end of
-- the reply; and Redis's error.
local function read(key, tables, at, last, cost, count, adjustments)
    local left, marker = math.huge, key + tables
    for t = 1, tables do
        local windows, width = ARGV[at] + 0, 2
        if windows < 0 then
            windows, width = -windows, 3
        end
        local fields = at + 1 + 2 * windows
        local values = pcall('HMGET', KEYS[key + t], unpack(ARGV, fields, fields + windows * width - 1))
        if values.err then
            return 0, 0, last, values
        end
        found[t] = values
        local applies = adjustments
        if adjustments then
            local report = ARGV[adjustments]
            adjustments = adjustments + 1
            if report ~= '0' then
                marker = marker + 1
                local applied = pcall('HMGET', KEYS[marker], $report_number)
                if applied.err then
                    return 0, 0, last, applied
                end
                applies = (tonumber(applied[1]) or 0) < report + 0
                values.report, values.marker = applies and report, marker
            end
        end
        local value = 1
        for argument = at + 1, fields - 1, 2 do
            local room, length = ARGV[argument], ARGV[argument + 1] + 0
            local current = (now - now % length) / length
            local number, units, before = tonumber(values[value]), tonumber(values[value + 1]) or 0, 0
            local new = number ~= current
            if width == 3 then
                before = tonumber(values[value + 2])
                new = new or not before
                before = before or 0
            end
            if number ~= current then
                -- A future window was counted before the clock went back (a failover). It is kept if it is at most one
                -- minute or one window ahead. One that is further ahead was counted with a wrong clock.
                local ahead = (number or -2) - current
                if ahead ~= 1 and not (ahead > 1 and number * length - now <= 60000) then
                    before = ahead == -1 and units or 0
                    number, units = current, 0
                end
            end
            if adjustments then
                local adjusted, by, by_before = ARGV[adjustments] + 0, ARGV[adjustments + 1] + 0, ARGV[adjustments + 2] + 0
                local changes = applies and (by ~= 0 or by_before ~= 0)
                adjustments = adjustments + 3
                if changes and adjusted == number then
                    units, before = max(units + by, 0), max(before + by_before, 0)
                    values.adjusted = true
                elseif changes and adjusted == number - 1 and width == 3 then
                    before = max(before + by, 0)
                    values.adjusted = true
                end
            end
            values[value] = new
            value = value + width
            reply[last + 1], reply[last + 2] = number, units
            room = room - units
            if width == 3 then
                reply[last + 3] = before
                room = room - ceil(before * (length - max(now - number * length, 0)) / length)
            end
            last = last + width
            if cost > 0 and room < count * cost then
                count = room > 0 and floor(room / cost) or 0
            end
            if room < left then
                left = room
            end
        end
        at = fields + windows * width
    end
    return count, left, last
end

local changes = {}

-- Adds `taken` to the windows after reply[last], and writes the windows that it or an adjustment changed. Returns
-- Redis's error.
local function write(key, tables, at, last, taken)
    for t = 1, tables do
        local windows, width = ARGV[at] + 0, 2
        if windows < 0 then
            windows, width = -windows, 3
        end
        local values, field, new, n = found[t], at + 1 + 2 * windows, false, 0
        if taken > 0 or values.adjusted then
            for value = 1, windows * width, width do
                local units = reply[last + 2] + taken
                reply[last + 2] = units
                new = values[value]
                if new then
                    changes[n + 1], changes[n + 2] = ARGV[field], reply[last + 1]
                    n = n + 2
                end
                changes[n + 1], changes[n + 2] = ARGV[field + 1], units
                n = n + 2
                if width == 3 and (new or values.adjusted) then
                    changes[n + 1], changes[n + 2] = ARGV[field + 2], reply[last + 3]
                    n = n + 2
                end
                field = field + width
                last = last + width
            end
            local name = KEYS[key + t]
            local done = pcall('HSET', name, unpack(changes, 1, n))
            if type(done) == 'table' then
                return done
            end
            local ends = (reply[last - width + 1] + width - 1) * ARGV[at + 2 * windows]
            -- Only if the longest window is new. The key keeps a later expiry, which a longer window of the id's
            -- previous plan has set.
            if new and ends > now + redis.call('PTTL', name) then
                redis.call('PEXPIREAT', name, ends)
            end
            if values.report then
                -- Expires when no window of the report counts any more.
                redis.call('HSET', KEYS[values.marker], $report_number, values.report)
                redis.call('PEXPIREAT', KEYS[values.marker], ends)
            end
        else
            last = last + windows * width
            field = field + windows * width
        end
        at = field
    end
end

-- Decides the id whose keys follow KEYS[key]. Returns the end of the reply, the number of the id's keys without those
-- of reports, and Redis's error.
local function decide(key, terms, count, wanted, pending, adjustments)
    local cost, at = ARGV[terms] + 0, terms + 2
    local start = size + (wanted > 0 and 2 or 1)
    local first, granted, ban, failure = key, count, nil, nil
    if ARGV[terms + 1] ~= '0' then
        key, at, start = key + 1, terms + 6, start + 3
        ban, failure = read_ban(KEYS[key], terms)
        if ban and ban.stands then
            granted = 0
        end
    end
    local tables, last, left = ARGV[at] + 0, start, 0
    local keys = key + tables - first
    if not failure then
        granted, left, last, failure = read(key, tables, at + 1, start, cost, granted, adjustments)
    end
    if failure then
        return last, keys, failure
    end

    local lease = 0
    if wanted > 0 and granted == count and not (ban and ban.stands) then
        lease = max(min(wanted, floor((left - granted * cost) / 8)), 0)
    end
    if granted * cost + lease > 0 or adjustments then
        failure = write(key, tables, at + 1, start, granted * cost + lease)
    end

    reply[size + 1] = granted
    if wanted > 0 then
        reply[size + 2] = lease
    end
    if ban then
        local limited = 0
        if not ban.stands and not failure then
            limited, failure = strike(ban, terms, pending, count - granted)
        end
        reply[start - 2], reply[start - 1], reply[start] = limited, ban.stands and ban.ends or 0, ban.strikes
    end
    return last, keys, failure
end

local key, id = 0, ARGV[2] + 0
while id < #ARGV do
    local more, wanted, pending, reports, adjustments = ARGV[id + 2], 0, 0, 0, nil
    if more ~= '0' then
        wanted, pending = ARGV[id + 3] + 0, ARGV[id + 4] + 0
        if more ~= '2' then
            reports, adjustments = ARGV[id + 5] + 0, id + 6
        end
    end
    local last, keys, failure = decide(key, ARGV[id] + 0, ARGV[id + 1] + 0, wanted, pending, adjustments)
    if failure then
        last = size + 1
        reply[last] = -1
        errors[#errors + 1] = failure
    end
    key, id, size = key + keys + reports, id + 3 + more, last
end
return {ARGV[1], struct.pack('<' .. ('i8'):rep(size), unpack(reply, 1, size)), unpack(errors)}
)lua";

}  // namespace

const Script& acquire_script() {
    static const Script script = make_script(kText, {{"$strikes", ban_field::kStrikes},
                                                     {"$since", ban_field::kSince},
                                                     {"$level", ban_field::kLevel},
                                                     {"$until", ban_field::kUntil},
                                                     {"$report_number", kReportNumber}});
    return script;
}

}  // namespace tollgate::redis
