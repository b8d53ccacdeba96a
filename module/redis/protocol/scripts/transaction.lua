--R"lua(
-- Executes commands at once, if the values on which they depend have not changed.
--
-- KEYS  the keys of the commands and of the conditions, all in one slot
-- ARGV  1    a token, which is returned
--       2    the number of conditions; per condition: the number of words of a command and its words; the number of
--            elements that its reply must have, and these elements. A number is one element; nil is an empty text
--       ...  the number of names to announce. If it is not 0: the sorted set of changes, the channel, the time in ms that
--            changes are kept, and the names
--       ...  the number of commands; per command: the number of its words, and its words. HGETALL may have another
--            last word, in conditions too: a number, and if the hash has more fields, the reply is how many; or ANY,
--            and if the key is no hash, the reply is -1
--
-- Returns  the token; 1 or, if a condition is not met, 0; and the reply to each command. If a name cannot be announced,
--          or the first command fails, returns the error: no command is executed. A later error is one of the replies:
--          the commands after it are executed, as after MULTI.

local position = 1

-- Returns the next counted list of arguments.
local function list()
    local first = position + 2
    position = position + 1 + ARGV[position + 1]
    return first, position
end

-- Executes a command.
local function execute(...)
    local command, key, most = ...
    if command ~= 'HGETALL' or not most then
        return redis.pcall(...)
    end
    if most == 'ANY' then
        local hash = redis.pcall(command, key)
        return hash.err and hash.err:find('WRONGTYPE', 1, true) and -1 or hash
    end
    local fields = redis.pcall('HLEN', key)
    return type(fields) == 'number' and fields <= most + 0 and redis.pcall('HGETALL', key) or fields
end

position = 2
for _ = 1, ARGV[2] do
    local values = execute(unpack(ARGV, list()))
    local first, last = list()
    if type(values) == 'number' then
        values = {tostring(values)}
    elseif values.err then
        return values
    end
    local met = #values == last - first + 1
    for i = first, last do
        met = met and (values[i - first + 1] or '') == ARGV[i]
    end
    if not met then
        return {ARGV[1], 0}
    end
end

local reply = {ARGV[1], 1}

-- Returns Redis's error if the command fails.
local function error_of(...)
    local value = redis.pcall(...)
    return type(value) == 'table' and value.err and value
end

-- Subscribers act when the script has ended. A user who may not announce a change must not have changed anything.
position = position + 1
local names = ARGV[position] + 0
local changes, events, kept
local first_name = position + 4
local last_name = position + 3 + names
if names > 0 then
    changes, events, kept = unpack(ARGV, position + 1, position + 3)
    for i = first_name, last_name do
        local failure = error_of('PUBLISH', events, ARGV[i])
        if failure then
            return failure
        end
    end
    local time = redis.call('TIME')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    local failure = error_of('ZREMRANGEBYSCORE', changes, '-inf', now - kept)
    for i = first_name, last_name do
        failure = failure or error_of('ZADD', changes, now, ARGV[i])
    end
    if failure then
        return failure
    end
    position = last_name
end

position = position + 1
for _ = 1, ARGV[position] do
    local value = execute(unpack(ARGV, list()))
    if type(value) == 'table' and value.err and #reply == 2 then
        return value
    end
    reply[#reply + 1] = value
end

return reply
--)lua"_lua
