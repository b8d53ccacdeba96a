--R"lua(
-- Notes when keys were last used. KEYS are pairs: the hash of uses and the set of digests of an id. ARGV[1] is the token,
-- ARGV[2] the lifetime of a hash in seconds. For each pair, a digest and the ms since its use follow. Returns the token,
-- then the status OK, or the text of the last error: an error reply could mean that Redis refuses the connection.

local function note(uses, digests, digest, used)
    local exists = redis.pcall('EXISTS', digests)
    -- An id without digests was revoked: its hash must not come back.
    if exists ~= 1 then
        return exists
    end
    local last = redis.pcall('HMGET', uses, digest)
    if last.err or used <= (tonumber(last[1]) or 0) then
        return last
    end
    local set = redis.pcall('HSET', uses, digest, string.format('%d', used))
    if type(set) == 'table' then
        return set
    end
    return redis.pcall('PEXPIREAT', uses, string.format('%d', (used + ARGV[2]) * 1000))
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local result = {ok = 'OK'}
for i = 1, #KEYS, 2 do
    local minute = math.floor((now - ARGV[i + 3]) / 60000)
    local noted = note(KEYS[i], KEYS[i + 1], ARGV[i + 2], minute * 60)
    if type(noted) == 'table' and noted.err then
        result = noted.err
    end
end
return {ARGV[1], result}
--)lua"_lua
