--R"lua(
-- Writes fields of the hash KEYS[1]. ARGV[1] is a token, which is returned. ARGV[2] is 1 if a table keeps a history,
-- otherwise 0. The names and values of the fields follow.
--
-- The commands that move a day to the history are needed at the end of the day only. They are tested here, on a field that
-- exists during the script. If one is refused, Redis's error follows the token.

redis.call('HSET', KEYS[1], unpack(ARGV, 3))
if ARGV[2] == '1' then
    for _, command in ipairs({{'HKEYS'}, {'HDEL', ':'}, {'HINCRBY', ':', 1}, {'HDEL', ':'}}) do
        local tested = redis.pcall(command[1], KEYS[1], unpack(command, 2))
        if type(tested) == 'table' and tested.err then
            return {ARGV[1], tested.err}
        end
    end
end
return {ARGV[1]}
--)lua"_lua
