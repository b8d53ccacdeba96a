#include "module/redis/acquire_script.hpp"

#include "module/core/hex_digest.hpp"

namespace tollgate::redis {

const std::string_view kAcquireScript = R"lua(
-- Grants a request in every window of every table, or in none.
--
-- KEYS  1        ban:{ID}
--       2...     quota:{ID}:TABLE, one a table
-- ARGV  1        cost; 0 looks and takes nothing
--       2        '1' where a ban of the key counts
--       3        strikes that make a ban; '0': a refusal is no strike
--       4 5 6    the time within which they must fall, the first ban, the longest ban; ms
--       7...     per table the number of its windows; per window the limit, the period in seconds,
--                and '1' where it slides
--
-- Returns  1 granted, 0 limited or -1 banned; the time; the end of the ban or 0;
--          then per window what is left of it, when it resets, and 1 where it refused. All times in ms.
--
-- A table's hash holds of each window, under its period, the number of the window counted last, its count and,
-- where it slides, the count of the one before.

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local cost = tonumber(ARGV[1])

local ban = {strikes = 0, since = 0, level = 0, ends = 0}
if ARGV[2] == '1' then
    local values = redis.call('HMGET', KEYS[1], 'strikes', 'since', 'level', 'until')
    ban.strikes = tonumber(values[1]) or 0
    ban.since = tonumber(values[2]) or 0
    ban.level = tonumber(values[3]) or 0
    ban.ends = tonumber(values[4]) or 0
end
local banned = ban.ends > now

-- What the sliding window has spent at this many ms into it: its own count and a share of the one before.
local function spent(window, elapsed)
    return window.count + math.ceil(window.previous * (window.length - elapsed) / window.length)
end

-- When a sliding window will have room for this much: in this window as the one before fades, or in the next.
local function room_at(window, need)
    local room = window.limit - window.count - need
    if room >= 0 then
        local elapsed = 0
        if window.previous > room then
            elapsed = window.length - math.floor(room * window.length / window.previous)
        end
        return window.start + elapsed
    end
    room = math.max(window.limit - need, 0)
    local elapsed = 0
    if window.count > room then
        elapsed = window.length - math.floor(room * window.length / window.count)
    end
    return window.start + window.length + elapsed
end

local windows = {}
local granted = not banned
local argument = 7
for table_index = 2, #KEYS do
    local first = #windows + 1
    local fields = {}
    for _ = 1, tonumber(ARGV[argument]) do
        local period = ARGV[argument + 2]
        windows[#windows + 1] = {
            key = KEYS[table_index],
            period = period,
            limit = tonumber(ARGV[argument + 1]),
            length = tonumber(period) * 1000,
            slides = ARGV[argument + 3] == '1',
        }
        fields[#fields + 1] = period .. '.number'
        fields[#fields + 1] = period .. '.count'
        fields[#fields + 1] = period .. '.previous'
        argument = argument + 3
    end
    argument = argument + 1

    local values = redis.call('HMGET', KEYS[table_index], unpack(fields))
    for i = first, #windows do
        local window = windows[i]
        local at = (i - first) * 3
        local number = tonumber(values[at + 1]) or -2
        local count = tonumber(values[at + 2]) or 0
        local previous = tonumber(values[at + 3]) or 0
        window.number = math.floor(now / window.length)
        window.count = 0
        window.previous = 0
        local ahead = number - window.number
        if ahead == 0 or ahead == 1 or ahead > 1 and number * window.length - now <= 60000 then
            -- A window to come was counted already when the clock went back, at a failover: by a minute at most, or
            -- one window; what is further off was counted by a clock that was wrong.
            window.number = number
            window.count = count
            window.previous = previous
        elseif number == window.number - 1 then
            window.previous = count
        end
        window.start = window.number * window.length
        if window.slides then
            window.used = spent(window, math.max(now - window.start, 0))
        else
            window.used = window.count
        end
        window.refuses = cost > 0 and window.used + cost > window.limit
        granted = granted and not window.refuses
    end
end

if granted and cost > 0 then
    local window = 1
    while windows[window] do
        local key = windows[window].key
        local fields = {}
        local expires = 0
        while windows[window] and windows[window].key == key do
            local w = windows[window]
            w.count = w.count + cost
            w.used = w.used + cost
            fields[#fields + 1] = w.period .. '.number'
            fields[#fields + 1] = w.number
            fields[#fields + 1] = w.period .. '.count'
            fields[#fields + 1] = w.count
            if w.slides then
                fields[#fields + 1] = w.period .. '.previous'
                fields[#fields + 1] = w.previous
            end
            expires = math.max(expires, w.start + w.length * (w.slides and 2 or 1))
            window = window + 1
        end
        redis.call('HSET', key, unpack(fields))
        -- Never earlier: a longer window of a plan that the key had before counts when it gets that plan again.
        if expires > now + redis.call('PTTL', key) then
            redis.call('PEXPIREAT', key, expires)
        end
    end
end

local after = tonumber(ARGV[3])
if not granted and not banned and after > 0 then
    local within, first, up_to = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
    if ban.strikes == 0 or now - ban.since >= within then
        ban.strikes = 0
        ban.since = now
    end
    ban.strikes = ban.strikes + 1
    if ban.strikes >= after then
        banned = true
        ban.ends = now + math.min(first * 2 ^ ban.level, up_to)
        ban.level = ban.level + 1
        ban.strikes = 0
    end
    redis.call('HSET', KEYS[1], 'strikes', ban.strikes, 'since', ban.since, 'level', ban.level, 'until', ban.ends)
    redis.call('PEXPIREAT', KEYS[1], math.max(ban.since + within, ban.level > 0 and ban.ends + up_to or 0))
end

local reply = {banned and -1 or granted and 1 or 0, now, banned and ban.ends or 0}
for _, window in ipairs(windows) do
    local left = math.max(window.limit - window.used, 0)
    local reset = window.start + window.length
    if window.slides and (window.refuses or left == 0) then
        reset = room_at(window, math.max(cost, 1))
    end
    reply[#reply + 1] = left
    reply[#reply + 1] = reset
    reply[#reply + 1] = window.refuses and 1 or 0
end
return reply
)lua";

std::string acquire_script_sha1() {
    std::string digest(40, '\0');
    write_hex_digest(EVP_sha1(), kAcquireScript, digest);
    return digest;
}

}  // namespace tollgate::redis
