--R"lua(
-- Refills a bucket, which had this debt at `time`, with `bucket.rate` for each us until `now`. A clock that went
-- back gives no tokens. A time that is more than a minute ahead is that of a wrong clock: the bucket refills from now on.
-- This is stored in `field` of the hash `name` at once. A refused request stores nothing else, and the bucket would not
-- refill before the clock shows the wrong time again. Adds `by`, which may be negative. Notes in values.fills how many ms
-- the bucket may take to be full. Returns its time, its debt and the tokens that are left.
return function(values, bucket, time, debt, now, by, name, field)
    if not time then
        time = now
    elseif time - now > 60000000 then
        time = now
        if debt > 0 then
            redis.pcall('HSET', name, field, time)
        end
    elseif time < now then
        debt, time = debt - (now - time) * bucket.rate, now
        debt = debt > 0 and debt or 0
    end
    debt = math.max(0, math.min(debt + by, 9000000000000000))
    values.fills = math.max(values.fills or 0, math.ceil(math.max(debt, bucket.empty) / bucket.rate / 1000))
    return time, debt, math.floor((bucket.empty - debt) / bucket.token)
end
--)lua"_lua
