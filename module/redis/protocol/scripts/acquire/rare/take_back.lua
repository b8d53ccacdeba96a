--R"lua(
-- A node names calls whose replies it never gets, `calls`: each a colon and a number. If the last lease of the table, whose
-- hash is `name`, was granted to one of them, returns its number, the time of the lease in ms, and the units that the call
-- has added to each window of that time. Returns 0 if not; or nil and Redis's error.
return function(name, calls, node)
    local last = redis.pcall('HMGET', name, lease_field.kNode, lease_field.kGrant)
    if last.err then
        return nil, last
    end
    local time, call, units = tostring(last[2]):match('^(%d+):(%d+):(%d+)')
    if last[1] == node and call and (calls .. ':'):find(':' .. call .. ':', 1, true) then
        return call + 0, time + 0, units + 0
    end
    return 0
end
--)lua"_lua
