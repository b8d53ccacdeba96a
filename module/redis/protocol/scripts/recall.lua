--R"lua(
-- Tells all nodes to return what they hold of something that they share, if the node `own` lacks it: only if another
-- node holds something that was not recalled yet. The node `holder` got something last, at `given`, and any other node
-- last at `given_before`. `recalled` is when all of it was last recalled. The times are those of Redis in ms, as
-- numbers or texts; 0, false or nil: never. If the nodes are to be told, `message` is called with the time when
-- another node got something last. It returns a channel and a message; or nothing if a return would not help.
--
-- Returns nothing if no other node holds anything; else the time when one got something last, and when this was
-- recalled, or 0. After the clock was set back, nothing is known of what was given later than now.
return function(own, holder, given, given_before, recalled, now, message)
    if holder == own then
        given = given_before
    end
    given, recalled = tonumber(given or 0) or 0, tonumber(recalled or 0) or 0
    if given == 0 or given > now then
        return nil
    end
    if recalled >= given and recalled <= now then
        return given, recalled
    end
    local channel, text = message(given)
    if not channel or type(redis.pcall('PUBLISH', channel, text)) == 'table' then
        return given, 0
    end
    return given, now
end
--)lua"_lua
