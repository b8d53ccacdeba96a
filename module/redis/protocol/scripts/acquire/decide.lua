--R"lua(
-- A part of the loop of acquire.lua: decides the requests of an id in every window of every table. Appends its numbers to
-- the reply, or sets `failure` to Redis's error. `key` becomes the index of the id's last key.

local start, granted, reports, adjustments, ban = size + 1, count, 0, nil, nil
if wanted > 0 then
    start = size + 2
end
if own and ARGV[own - 1] ~= '2' then
    reports, adjustments = ARGV[own + 2] + 0, own + 3
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

-- What is left in the fullest window; and in that of the tables whose refusals are strikes.
local left, left_to_strike, last, moves = math.huge, math.huge, start, false
-- Whether the value of a table shares its counter with others. Nothing is leased of it: its next window may be another one.
local is_shared = false
if not failure then
    insert('read_windows')
end

local lease, taken, is_banned = 0, granted * cost, ban and ban.stands
if not failure then
    if wanted > 0 and granted == count and not is_banned and not is_shared then
        local rest = left - taken
        if rest >= 8 * wanted then
            lease = wanted
        elseif rest > 0 then
            lease = (rest - rest % 8) / 8
        end
    end
    local added = taken + lease
    if moves and (added > 0 or adjustments) then
        move_days = move_days or rare('move_days')
        failure = move_days(found, first, tables, key, added, now, costs)
    end
    if not failure and (added > 0 or adjustments) then
        insert('write_windows')
    end
    -- Too few units are left for one more request: the leases of other nodes are recalled.
    if not failure and left - taken < needed and not is_banned then
        local at, windows_at = first, start
        for t = 1, tables do
            local windows, width = ARGV[at], 2
            if windows < 0 then
                windows, width = -windows, 3
            end
            local values = pcall('HMGET', KEYS[key + t], lease_field.kNode, lease_field.kGrant, lease_field.kOfOther,
                                 lease_field.kRecalled)
            local of_table = costs and needs[t] or needed
            if of_table > 0 and (values[3] or (values[1] or node) ~= node) then  -- Another node got a lease.
                recall, recall_leases = recall or rare('recall'), recall_leases or rare('recall_leases')
                local leased_at, recalled =
                    recall_leases(recall, KEYS[key + t], values, node, now, at, reply, windows_at, of_table)
                if leased_at then
                    leased = leased or {}
                    local n = #leased
                    leased[n + 1], leased[n + 2], leased[n + 3], leased[n + 4] = nth, t, leased_at, recalled
                end
            end
            at, windows_at = at + 2 + windows * (2 + width), windows_at + windows * width
        end
    end
end

if levels and not failure then
    notify = notify or rare('notify')
    notify(levels, first, tables, key, reply, start, now, taken + lease, costs and settled or settles,
           adjustments and found, costs, months)
end
reply[size + 1] = granted
if wanted > 0 then
    reply[size + 2] = lease
end
if ban then
    local limited = 0
    if not is_banned and not failure and (granted < count or own) then
        local pending, age = 0, 0
        if own and ARGV[own + 1] ~= '0' then
            pending, age = ARGV[own + 1]:match('(%d+):(%d+)')
        end
        strike = strike or rare('strike')
        limited, failure = strike(ban, terms, now, pending + 0, age + 0, count - granted,
                                  left_to_strike - taken < needed)
        if digests and ban.stands and not failure then
            enlist = enlist or rare('enlist')
            enlist(digests, ban.ends, now)
        end
    end
    reply[start - 2], reply[start - 1], reply[start] = limited, ban.stands and ban.ends or 0, ban.strikes
end
key = key + tables + reports + others
if not failure then
    size = last
    for t = 1, adjustments and tables or 0 do
        if found[t].lost then
            size = size + 1
            reply[size] = found[t].lost
        end
    end
end
--)lua"_lua
