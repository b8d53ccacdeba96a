--R"lua(
-- Reads the members of the sorted set KEYS[1] whose score, a time in ms, is within the last ARGV[2] ms. Returns the token
-- ARGV[1], whether the set exists, then at most 400 names, earliest first, each followed by its age in ms. If there may be
-- more, the score of the last name follows: it is ARGV[3] of the next call, which reads on from there. In the first call,
-- ARGV[3] is empty.

local exists = redis.call('EXISTS', KEYS[1])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local first = ARGV[3] ~= '' and ARGV[3] or now - ARGV[2]
local names = redis.call('ZRANGEBYSCORE', KEYS[1], first, '+inf', 'WITHSCORES', 'LIMIT', 0, 400)
local last = names[800]
for i = 2, #names, 2 do
    -- A score of a former master can be later than the clock of this one.
    names[i] = math.max(0, now - names[i])
end
return {ARGV[1], exists, names, last}
--)lua"_lua
