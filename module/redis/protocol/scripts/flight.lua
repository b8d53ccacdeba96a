--R"lua(
-- Gives a node places for requests in flight of the id ARGV[2] in the plan table ARGV[3]. The hash KEYS[1] has a field
-- `TABLE:NODE` for each node with places: `PLACES VERSION END`, with the Redis time of the call in us, and the time in
-- ms until which the places are the node's own. Its field `TABLE` has what is known of all nodes, so that a call need not
-- read the fields of each: `SUM CHECKED NODE GIVEN GIVEN_BEFORE RECALLED`. These are the places of all nodes; when they
-- are summed again, because those of a node may end; the node that got places last and when; when any other node did; and
-- when all nodes were told that one wants places, in ms.
--
-- ARGV[4] is the node, ARGV[5] the limit of all nodes together, ARGV[6] the places that the node wants, ARGV[7] for how
-- many ms. ARGV[8] is empty if it wants at least so many: it gets what is left of the limit, and in any case places for
-- the ARGV[11] requests that it has in flight. Redis may have lost these places, or given them to others: then they are
-- recalled, and no node gets further ones until enough requests have ended. Otherwise the node returns the rest, if
-- ARGV[8] is the version of its places: no other call of the node has changed them. ARGV[9] is the channel for recalls,
-- ARGV[10] the time in ms after which nothing is done, because the node does not wait any more; 0: none.
--
-- A recall lasts for a second: whoever gets places meanwhile learns of it from the reply. rare(NAME) creates a function, as
-- in acquire.lua.
--
-- Returns the token ARGV[1], then the node's places, their version, the places of other nodes, and 1 if a recall lasts,
-- otherwise 0. Returns the token alone after the deadline.

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if ARGV[10] ~= '0' and now > ARGV[10] + 0 then
    return {ARGV[1]}
end
local version = string.format('%.0f', time[1] * 1000000 + time[2])
local lifetime, limit, wanted = tonumber(ARGV[7]), tonumber(ARGV[5]), tonumber(ARGV[6])
local own_field = ARGV[3] .. ':' .. ARGV[4]

local known = redis.call('HMGET', KEYS[1], ARGV[3], own_field)
local sum, checked, node, given, given_before, recalled =
    string.match(known[1] or '0 0 - 0 0 0', '^(%d+) (%d+) (%S+) (%d+) (%d+) (%d+)$')
sum, checked, given, given_before = tonumber(sum), tonumber(checked) or 0, tonumber(given) or 0, tonumber(given_before) or 0
recalled = tonumber(recalled) or 0
if checked <= now or checked > now + lifetime then
    -- The places of a node may have ended, or the clock was set back. Places are given only to a user who may return them:
    -- a call that Redis refuses changes nothing, so it is tried first with a field that does not exist.
    redis.call('HDEL', KEYS[1], '')
    sum, checked = 0, now + lifetime
    local fields = redis.call('HGETALL', KEYS[1])
    for i = 1, #fields, 2 do
        local field = fields[i]
        local table_name = string.match(field, '^(.*):')
        local places, its_version, ends = string.match(fields[i + 1], '^(%d+) (%d+) (%d+)$')
        ends = tonumber(ends) or 0
        if table_name and ends <= now then
            redis.call('HDEL', KEYS[1], field)
        elseif table_name == ARGV[3] then
            if ends > now + lifetime then
                ends = now + lifetime
                redis.call('HSET', KEYS[1], field, string.format('%s %s %.0f', places, its_version, ends))
            end
            sum, checked = sum + places, math.min(checked, ends)
        end
    end
end

local places, own_version, ends = string.match(known[2] or '', '^(%d+) (%d+) (%d+)$')
local own, before = 0, 0
if ends and tonumber(ends) > now then
    own, before = tonumber(places), tonumber(places)
else
    own_version = '0'
end
local others = math.max(0, sum - own)
local lasts = recalled <= now and now - recalled < 1000
if ARGV[8] == '' then
    own = math.max(own, math.min(wanted, limit - others), tonumber(ARGV[11]))
elseif ARGV[8] == own_version then
    own = math.min(own, wanted)
else
    return {ARGV[1], own, own_version, others, lasts and 1 or 0}
end
if own > before and not lasts then
    if node ~= ARGV[4] then
        node, given_before = ARGV[4], given
    end
    given = now
end
local is_over = ARGV[8] == '' and own + others > limit
if (own < wanted or is_over) and others > 0 and not lasts then
    local _, told = rare('recall')(ARGV[4], node, given, given_before, recalled, now, function()
        return ARGV[9], kPlacesOf .. ARGV[2]
    end)
    if told == now then
        recalled, lasts = now, true
    end
end

if own + others == 0 then
    redis.call('HDEL', KEYS[1], own_field, ARGV[3])
    return {ARGV[1], 0, version, 0, lasts and 1 or 0}
end
local summary = string.format('%.0f %.0f %s %.0f %.0f %.0f', own + others, math.min(checked, now + lifetime),
                              node or '-', given, given_before, recalled)
if own > 0 then
    redis.call('HSET', KEYS[1], ARGV[3], summary, own_field, string.format('%.0f %s %.0f', own, version, now + lifetime))
    redis.call('PEXPIREAT', KEYS[1], now + lifetime)
else
    if known[2] then
        redis.call('HDEL', KEYS[1], own_field)
    end
    redis.call('HSET', KEYS[1], ARGV[3], summary)
end
return {ARGV[1], own, version, others, lasts and 1 or 0}
--)lua"_lua
