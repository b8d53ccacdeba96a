--R"lua(
-- Notes when keys and subjects were last used. KEYS are pairs: the hash of uses and the set of digests of an id. ARGV[1]
-- is the token, ARGV[2] the lifetime of a hash in seconds, ARGV[3] that of an id without a key. For each pair, a digest (or
-- kSubjectUse) and the ms since its use follow. Returns the token, then the status OK, or the text of the last error: an
-- error reply could mean that Redis refuses the connection.

local function note(uses, digests, digest, used)
    local exists = redis.pcall('EXISTS', digests)
    -- An id without digests was revoked, or has only been a subject: the hash of its keys must not come back.
    if type(exists) == 'table' or (exists ~= 1 and digest ~= kSubjectUse) then
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
    local lifetime = exists == 1 and ARGV[2] or ARGV[3]
    return redis.pcall('PEXPIREAT', uses, string.format('%d', (used + lifetime) * 1000))
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local result = {ok = 'OK'}
for i = 1, #KEYS, 2 do
    local minute = math.floor((now - ARGV[i + 4]) / 60000)
    local noted = note(KEYS[i], KEYS[i + 1], ARGV[i + 3], minute * 60)
    if type(noted) == 'table' and noted.err then
        result = noted.err
    end
end
return {ARGV[1], result}
--)lua"_lua
