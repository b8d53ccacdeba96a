--R"lua(
-- Decides requests of many ids. Each request is decided in every window of every table of its id at once.
--
-- KEYS  for each id, one after the other: id:{ID} if it has one of the next two and is in no group; ban:{ID} if the id
--       can be banned; history:{ID} if one of its tables keeps a history; one quota:{ID}:TABLE, or quota:{ID}:TABLE:VALUE,
--       per table; one report:{ID}:TABLE:NODE:LAYOUT, or report:{ID}:TABLE:VALUE:NODE:LAYOUT, per table whose
--       adjustments are a report; and one quota:{ID}:TABLE:others per table that counts values. After all ids the stream
--       of notices, if one of their tables has levels; and the sets of subjects and of their ends, if there is this stream,
--       a ban or a history. Of an id in a group, {GROUP}ID is in place of {ID}; that of the group itself is
--       quota:{GROUP}:TABLE:group
-- ARGV  1        a token, which is returned
--       2        the index in ARGV of the first id
--       3        the deadline in ms: nothing is decided after it, because the node no longer waits; 0: none
--       4        the node
--       5        the number of the call, if it asks for a lease: no other call of the node has it
--       6...     terms, which ids may share:
--                  the cost of a request; 0 takes nothing. After it `s` if what it has cost is known when it ends: then
--                    a request of cost 0 needs a unit that is left in each window. If tables cost differently, the cost in
--                    each of them, with commas between; then leases are multiples of these costs
--                  the number of strikes that cause a ban; or 0 for no bans, and the next four are omitted:
--                    the time within which they must occur, the first ban, the longest ban, in ms; and a text that has
--                    for each table 1 if a refusal by it is a strike, or 0
--                  the number of tables; per table:
--                    the number of its windows, negative if they slide
--                    for how many days it keeps a history of its window of one day, or 0; if it counts values, a colon
--                      and how many of them have a counter in a longest window; and after it, each with a space before
--                      it, the levels that are noticed, in per cent of a limit, ascending; then, if its limits are soft,
--                      those of its windows, with a semicolon before each
--                    per window, ascending, its limit and its length in ms; or, of a month, what month.lua reads and 0;
--                      or, of a bucket, BURST:TOKEN, where a token is a debt of the period in us, and its rate, negative;
--                      or, of a balance, the most that it can have, and kBalanceLength
--                    per window its fields, as window_field() names them: of the number, the count and, if it slides,
--                      the previous count; of a bucket, those of the time, the debt and, if windows slide, any other;
--                      of a balance, twice that of what is left
--       ...      ids: the index in ARGV of its terms, the number of requests, and one of: 0; -N, if the next N ids have the
--                  same terms and number of requests, are not listed, and none of them has further arguments; 1 and the
--                  units wanted as a lease by this id and by the next ones, which are alike, too: numbers of 8 bytes each,
--                  packed into a string; or how many further arguments follow, at least 2:
--                  the units wanted as a lease, and the strikes that are not counted yet, STRIKES:AGE, with the time since
--                    the first of them in ms; or 0
--                  optionally the number of its report keys and, per table: the number of the node's report, which is
--                    applied once, or 0, and after a colon each, the numbers of calls of the node. If the last lease of
--                    the table was granted to one of them, what this call has added is taken back;
--                    per window: its number, the units to add to it, and to the previous window if it slides; the
--                      units of a bucket are debt
--
-- Returns  the token; numbers of 8 bytes each, packed into a string; the errors of the ids that have one; and optionally
--          further numbers, packed like the first.
--          The numbers are the time in us and, unless the deadline has passed, for each id -1 if it has an error; else
--            the requests granted; if a lease is wanted, the lease;
--            if bans are counted, the requests limited, the end of the ban in ms or 0, and the strikes so far;
--            per window its number, its count and, if it slides, the count of the previous window; of a bucket, its
--              time in us, its debt and, if windows slide, 0;
--            and per table that names calls, the number of the one that was taken back, or 0;
--            or -2 and the counts: all requests are granted, with the lease that is wanted, and the numbers of the windows
--              are those of the last id that has numbers.
--          The further numbers are, for each table that another node has leased units of and that has too few units left
--          for one more request: the id and the table, counted from 1, the time of that node's last lease in ms, and the
--          time when it was recalled, or 0.
--
-- The hash of a table has for each window the number of the last counted window, its count and, if it slides, the count
-- of the previous window; for each bucket what it lacked to be full, and when (see plan/bucket.hpp); what is left of a
-- balance, whose count is what is missing to the most that it can have; and the node that got
-- the last lease, its time, call and units (see schema.hpp), the same of the last lease of any other node, and when
-- the leases were last recalled. If the table keeps a history, the last day remains in this hash until an acquire of a later
-- day moves its count to the hash of the history. Adjustments of a day that was moved change the history. If levels are
-- noticed, it has for each window that reached one the number of the window and the levels that have an entry in the stream,
-- each with the highest limit, and with a time in ms from which it may be noticed again if the window has fallen below it
-- since.

-- Each call allocates its functions, upvalues and tables again. Therefore one loop decides. insert(NAME) is replaced by
-- the text of acquire/NAME.lua, which uses the names of this file. rare(NAME) creates the function of
-- acquire/rare/NAME.lua, or of NAME.lua, which few calls need: it uses parameters and globals, and no other name of
-- this file. Tables begin with enough elements for one id, because growth allocates again. Comparisons and arithmetic
-- replace functions of `math` where every id would call them.

local KEYS, ARGV, pcall, tonumber, unpack, format = KEYS, ARGV, redis.pcall, tonumber, unpack, string.format
local node = ARGV[4]

local time = redis.call('TIME')
local seconds, microseconds = time[1] + 0, time[2] + 0
local now = seconds * 1000 + (microseconds - microseconds % 1000) / 1000
local reply, size, errors = {seconds * 1000000 + microseconds, 0, 0, 0, 0, 0, 0, 0, 0}, 1, nil

if ARGV[3] ~= '0' and now > ARGV[3] + 0 then
    return {ARGV[1], struct.pack('<i8', reply[1])}
end

-- The terms of the last id: `known` is their index as in ARGV, and `first` the index of the first of their tables.
-- `keeps` is true if one of the tables keeps a history. `count` is the number of requests.
-- `needed` is the number of units that each window must have left for a request, and `settles` is true if its cost is
-- known when it ends. If tables cost differently, `costs` has the cost in each of them, `needs` the units that its windows
-- must have left, and `settled` whether its cost is known when the request ends. All numbers of units before they are
-- written are then those of requests: `cost` is 1.
local known, terms, cost, needed, settles, costs, needs, settled, bans, first, tables, keeps, count
-- The number of ids that follow and are like the last one; the units that these ids want as leases, nil if they want none;
-- and which of them belongs to the last one.
local alike, leases, nth_lease = 0, nil, 1
-- The most frequent terms are those of one table with two fixed windows. Of these, the names of the fields, the limits, the
-- numbers of the current windows, and these as texts. number1 is nil for other terms.
local number1, count1, number2, count2, limit1, limit2, current1, current2, text1, text2
-- Whether the last id that has numbers in the reply has those of the current windows of these terms.
local is_shown
-- Per window of these terms: the number of the current window; and the text that Redis has for it, or 0 if that is not
-- known; 'balance' of a balance. Of a bucket, false; and its rate, the debt of a token and the debt of an empty bucket.
local current = {0, 0, 0, 0}
-- The current months, by the index of the limit of their window; nil until a window needs one.
local months
-- Functions of rare(); nil until they are needed.
local read_ban, strike, recall, recall_leases, adjust, move_days, expire, refill, notify, enlist, choose_counter, count_value
local take_back, read_month
-- The levels of the tables that have some, by the index of their terms; nil if none has.
local levels
-- How many values have a counter in the tables that count values, by the index of their terms; nil if none does. `others`
-- is the number of such tables of the last id.
local most_values, others = nil, 0
-- The further numbers of the reply; nil if there are none.
local leased

-- Per table of the current id: the values of HMGET, where the number of each window is replaced by whether it must be
-- written, and the time of a bucket by the debt of a token. `fills` is the time in ms in which its buckets become full. If
-- a lease is wanted, the node and the time of the last lease precede them. `adjusted` is true if an adjustment changed the
-- table. `report` is the number to write into KEYS[marker], if any. If the table keeps a history, `day` is the number of a
-- day that is new, and `past` has the units that are added to the history: each day and its units.
local found = {false}
-- The arguments of HSET, where they differ from id to id.
local changes
-- Conversions of small counts: the number of a text, and the text of a number. Each takes as long as about fifty other
-- operations. In many calls most ids have few different ones; larger counts are seldom alike.
local converted, most_converted = {}, 1000
-- '%d' takes half as long as '%.0f', and a C long, which may have 32 bits.
local most_long = 2147483648
-- The begin of what is stored of a lease that this call grants; nil until a lease needs it.
local granted_text

local nth, key, id, ids_end = 0, 0, ARGV[2] + 0, #ARGV
while alike > 0 or id < ids_end do
    local wanted, own, read, plain, failure = 0, nil, nil, nil, nil
    nth = nth + 1
    if alike > 0 then
        alike, plain = alike - 1, number1
        if leases then
            nth_lease = nth_lease + 1
            wanted = leases[nth_lease]
        end
    else
        -- To convert a string to a number takes as long as about ten other operations. Therefore 1, the usual number of
        -- requests, is compared as a string; and terms are converted in place, once, because most ids share them.
        count = ARGV[id + 1] == '1' and 1 or ARGV[id + 1] + 0
        if ARGV[id] ~= known then
            insert('read_terms')
        end
        local more = ARGV[id + 2]
        id = id + 3
        if more == '0' then
            plain = number1
        else
            local further = more + 0
            if further < 0 then
                alike, leases, plain = -further, nil, number1
            elseif further == 1 then
                alike, plain = #ARGV[id] / 8, number1
                leases, nth_lease = {struct.unpack(alike == 1 and '<i8' or '<' .. ('i8'):rep(alike), ARGV[id])}, 1
                alike, wanted = alike - 1, leases[1]
                id = id + 1
            else
                wanted, own = ARGV[id] + 0, id
                id = id + further
            end
        end
    end

    insert('decide_frequent')
    if plain ~= 'decided' then
        insert('decide')
        is_shown = false
    end
    if failure then
        size = size + 1
        reply[size] = -1
        errors = errors or {}
        errors[#errors + 1] = failure
    end
end

-- To make a format takes as long as about a hundred operations. The first three are those of one id in two fixed windows:
-- without a lease, with one, and with bans.
local layout = size == 6 and '<i8i8i8i8i8i8' or size == 7 and '<i8i8i8i8i8i8i8' or size == 9 and '<i8i8i8i8i8i8i8i8i8'
               or '<' .. ('i8'):rep(size % 8) .. ('i8i8i8i8i8i8i8i8'):rep((size - size % 8) / 8)
local numbers = struct.pack(layout, unpack(reply, 1, size))
if not errors and not leased then
    return {ARGV[1], numbers}
end
errors = errors or {}
if leased then
    errors[#errors + 1] = struct.pack('<' .. ('i8'):rep(#leased), unpack(leased))
end
return {ARGV[1], numbers, unpack(errors)}
--)lua"_lua
