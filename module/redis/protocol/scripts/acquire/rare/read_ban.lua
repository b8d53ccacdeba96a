--R"lua(
-- Returns the ban of an id, or nil and Redis's error.
return function(name, terms, now)
    local values = redis.pcall('HMGET', name, ban_field.kStrikes, ban_field.kSince,
                               ban_field.kLevel, ban_field.kUntil)
    if values.err then
        return nil, values
    end
    local ban = {
        name = name,
        strikes = tonumber(values[1]) or 0,
        since = tonumber(values[2]) or 0,
        level = tonumber(values[3]) or 0,
        ends = tonumber(values[4]) or 0,
    }
    if now - ban.since >= ARGV[terms + 2] + 0 then
        ban.strikes = 0
    end
    ban.stands = ban.ends > now
    if now >= ban.ends + ARGV[terms + 4] then
        ban.level = 0
    end
    return ban
end
--)lua"_lua
