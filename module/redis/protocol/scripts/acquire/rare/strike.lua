--R"lua(
-- Counts the pending strikes, the first of them `age` ms ago, then the refusals if they are strikes. The refusal that
-- completes a ban is itself banned. A new ban is announced, so that nodes use no lease of the id any more; an ACL may
-- forbid it. What is stored holds, also if Redis may not let it expire. Returns the number of refusals that are only
-- limited, or nil and Redis's error.
return function(ban, terms, now, pending, age, refused, are_strikes)
    local strikes = are_strikes and refused or 0
    if pending + strikes == 0 then
        return refused
    end
    if ban.strikes == 0 then
        ban.since = now
    end
    if pending > 0 then
        ban.since = math.min(ban.since, now - age)
    end
    local limited, missing = refused, ARGV[terms + 1] - ban.strikes - pending
    ban.strikes = ban.strikes + pending + strikes
    if strikes >= missing then
        limited = math.max(missing - 1, 0)
        ban.stands = true
        ban.ends = now + math.min(ARGV[terms + 3] * 2 ^ ban.level, ARGV[terms + 4] + 0)
        ban.level = ban.level + 1
        ban.strikes = 0
    end
    local done = redis.pcall('HSET', ban.name, ban_field.kStrikes, ban.strikes, ban_field.kSince, ban.since,
                             ban_field.kLevel, ban.level, ban_field.kUntil, ban.ends)
    if type(done) == 'table' then
        return nil, done
    end
    if ban.stands then
        local prefix, tag, id = ban.name:match('^(.*)' .. kBanKey .. '{(.*)}(.*)')
        redis.pcall('PUBLISH', prefix .. kEventsKey, kBanKey .. (id == '' and tag or id))
    end
    -- Another table's ban may need the entry for longer.
    local expires = math.max(ban.since + ARGV[terms + 2], ban.level > 0 and ban.ends + ARGV[terms + 4] or 0)
    local rest = redis.pcall('PTTL', ban.name)
    if type(rest) ~= 'table' and expires > now + rest then
        redis.pcall('PEXPIREAT', ban.name, expires)
    end
    return limited
end
--)lua"_lua
