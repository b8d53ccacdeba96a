--R"lua(
-- Reads the limit of a window of a month and when months begin, LIMIT:DAY:BEFORE:FROM: on this day of the calendar month in
-- UTC, or on the last day of a shorter one; before the day of the number FROM, on the day BEFORE. Only LIMIT: on the first.
-- Returns the limit; and the month that contains `now`: the number of its first day, its end in ms, and a function that
-- returns both for another time.
return function(terms, now)
    local limit, day, before, from = terms:match('(%d+):?(%d*):?(%d*):?(%d*)')
    day, before, from = tonumber(day) or 1, tonumber(before) or 1, tonumber(from) or 0
    local function first_of(month)
        -- The days of the years since March of the year 0, and of the months since March. 719468 days precede 1970.
        -- A leap day is the last day of such a year.
        local months = month + 23638
        local year, of_year = (months - months % 12) / 12, months % 12
        local days = 365 * year + (year - year % 4) / 4 - (year - year % 100) / 100 + (year - year % 400) / 400
        return days + (153 * of_year + 2 - (153 * of_year + 2) % 5) / 5 - 719468
    end
    local function at(time)
        local of_month = time < from * 86400000 and before or day
        -- Begins with a month to come. By the mean length of a month, the number is wrong by one at most.
        local month = 3 + (time - time % 2629746000) / 2629746000
        local begins, ends
        repeat
            month, ends = month - 1, begins
            begins = math.min(first_of(month) + of_month, first_of(month + 1)) - 1
        until begins * 86400000 <= time
        if time < from * 86400000 then
            ends = math.min(ends, from)
        else
            begins = math.max(begins, from)
        end
        return begins, ends * 86400000
    end
    local number, ends = at(now)
    return limit + 0, {number = number, ends = ends, at = at}
end
--)lua"_lua
