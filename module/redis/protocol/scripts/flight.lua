--R"lua(
-- Gives a node places for requests in flight of the id ARGV[2] in the plan table ARGV[3]. The hash KEYS[1] has a field
-- `TABLE:NODE` for each node with places: `PLACES VERSION END`, with the Redis time of the call in us, and the time in
-- ms until which the places are the node's own.
--
-- ARGV[4] is the node, ARGV[5] the limit of all nodes together, ARGV[6] the places that the node wants, ARGV[7] for how
-- many ms. ARGV[8] is empty if it wants at least so many: it gets what is left of the limit. Otherwise the node returns
-- the rest, if ARGV[8] is the version of its places: no other call of the node has changed them. ARGV[9] is the channel
-- for recalls.
--
-- Returns the token ARGV[1], then the node's places, their version, and the places of other nodes.

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local version = string.format('%.0f', time[1] * 1000000 + time[2])
local table_of_field, own_field = ARGV[3] .. ':', ARGV[3] .. ':' .. ARGV[4]
local lifetime = tonumber(ARGV[7])
local own, own_version, others, recalled = 0, '0', 0, 0
local fields = redis.call('HGETALL', KEYS[1])
for i = 1, #fields, 2 do
    local field, value = fields[i], fields[i + 1]
    local places, its_version, ends = string.match(value, '^(%d+) (%d+) (%d+)$')
    if field == kRecalled then
        recalled = tonumber(value) or 0
    elseif not ends or tonumber(ends) <= now then
        redis.call('HDEL', KEYS[1], field)
    else
        if tonumber(ends) > now + lifetime then
            -- The clock was set back.
            redis.call('HSET', KEYS[1], field, string.format('%s %s %.0f', places, its_version, now + lifetime))
        end
        if field == own_field then
            own, own_version = tonumber(places), its_version
        elseif string.sub(field, 1, #table_of_field) == table_of_field then
            others = others + places
        end
    end
end

local limit, wanted = tonumber(ARGV[5]), tonumber(ARGV[6])
if ARGV[8] == '' then
    own = math.max(own, math.min(wanted, limit - others))
elseif ARGV[8] == own_version then
    own = math.min(own, wanted)
else
    return {ARGV[1], own, own_version, others}
end
if own > 0 then
    redis.call('HSET', KEYS[1], own_field, string.format('%.0f %s %.0f', own, version, now + lifetime))
    redis.call('PEXPIREAT', KEYS[1], now + lifetime)
else
    redis.call('HDEL', KEYS[1], own_field)
end
if own < wanted and others > 0 and (now < recalled or now - recalled >= 20) then
    redis.call('HSET', KEYS[1], kRecalled, now)
    redis.call('PEXPIREAT', KEYS[1], now + lifetime)
    redis.pcall('PUBLISH', ARGV[9], kPlacesOf .. ARGV[2])
end
return {ARGV[1], own, version, others}
--)lua"_lua
