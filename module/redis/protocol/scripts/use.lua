--R"lua(
-- Notes when keys and subjects were last used. KEYS are pairs: the hash of uses and the set of digests of an id. ARGV[1]
-- is the token, ARGV[2] the lifetime of a hash in seconds, ARGV[3] that of an id without a key. For each pair, a digest (or
-- kSubjectUse) and the ms since its use follow. Returns the token, then the status OK; or the last error.

local pcall, format = redis.pcall, string.format

-- Most uses are of few minutes: the texts of the times.
local texts = {}
local function text_of(time)
    local text = texts[time] or format('%d', time)
    texts[time] = text
    return text
end

local function note(uses, digests, digest, used)
    local exists = pcall('EXISTS', digests)
    -- An id without digests was revoked, or has only been a subject: the hash of its keys must not come back.
    if exists ~= 1 and (digest ~= kSubjectUse or exists ~= 0) then
        return exists
    end
    local last = pcall('HMGET', uses, digest)
    if last.err then
        return last
    end
    local before = last[1] and tonumber(last[1]) or 0
    if used <= before then
        return last
    end
    local set = pcall('HSET', uses, digest, text_of(used))
    if type(set) == 'table' then
        return set
    end
    -- The hash of a key expires so long after the end of the day: the first use of a day sets it.
    local ends = used - used % 86400 + 86400
    if exists ~= 1 then
        return pcall('PEXPIREAT', uses, text_of((used + ARGV[3]) * 1000))
    elseif digest == kSubjectUse or before < ends - 86400 then
        return pcall('PEXPIREAT', uses, text_of((ends + ARGV[2]) * 1000))
    end
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local failure
for i = 1, #KEYS, 2 do
    local used = now - ARGV[i + 4]
    local noted = note(KEYS[i], KEYS[i + 1], ARGV[i + 3], (used - used % 60000) / 1000)
    if type(noted) == 'table' and noted.err then
        failure = noted
    end
end
return failure or {ARGV[1], {ok = 'OK'}}
--)lua"_lua
