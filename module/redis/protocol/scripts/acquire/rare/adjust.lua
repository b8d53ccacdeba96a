--R"lua(
-- Adjusts a window, which counts `units` in the window `number` and `before` in the one before it: by the units `by`
-- of the window `adjusted`, and by `by_before` of the one before that. What belongs to ended days of a history is
-- appended to values.past. Returns the new units, and the new units before.
return function(values, keeps_history, slides, number, units, before, adjusted, by, by_before)
    if keeps_history then
        local past = values.past or {}
        if adjusted ~= number and by ~= 0 then
            past[#past + 1] = adjusted
            past[#past + 1] = by
        end
        if by_before ~= 0 then
            past[#past + 1] = adjusted - 1
            past[#past + 1] = by_before
        end
        if #past > 0 then
            values.past, values.adjusted = past, true
        end
    end
    if adjusted == number then
        values.adjusted, units, before = true, units + by, before + by_before
    elseif adjusted == number - 1 and slides then
        values.adjusted, before = true, before + by
    end
    return math.max(0, math.min(units, kMostUnits)), math.max(0, math.min(before, kMostUnits))
end
--)lua"_lua
