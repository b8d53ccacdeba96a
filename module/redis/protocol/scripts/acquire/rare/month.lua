--R"lua(
-- Returns the number of the calendar month in UTC, 0 for January 1970, and its end in ms.
return function(now)
    -- Begins with a month to come. By the mean length of a month, the number is wrong by one at most.
    local month, begins, ends = 3 + (now - now % 2629746000) / 2629746000
    repeat
        month, ends = month - 1, begins
        -- The days of the years since March of the year 0, and of the months since March. 719468 days precede 1970.
        -- A leap day is the last day of such a year.
        local months = month + 23638
        local year, of_year = (months - months % 12) / 12, months % 12
        local days = 365 * year + (year - year % 4) / 4 - (year - year % 100) / 100 + (year - year % 400) / 400
        days = days + (153 * of_year + 2 - (153 * of_year + 2) % 5) / 5 - 719468
        begins = days * 86400000
    until begins <= now
    return month, ends
end
--)lua"_lua
