-- The requests of wrk: each has a random key of a file. With a single key, wrk runs no Lua per request.
--
--   wrk -s keys.lua URL -- FILE SEED               `done` prints the result, for Wrk.pm
--   wrk -s keys.lua URL -- FILE SEED STATUS COUNT  asks with one key after the other until COUNT answers have come; exit
--                                                  status 1 if more than one in a thousand hadn't this status, or too few
--                                                  came in time

local requests = {}
local sent, answered, wrong, last_wrong = 0, 0, 0, nil
local expected, count

local function end_check()
    -- limit_req grants one request in a minute.
    local good = wrong * 1000 <= answered and answered >= count
    if not good then
        io.stderr:write(string.format("%d of %d answers, %d of them wrong, the last with status %s\n", answered, count, wrong,
            tostring(last_wrong)))
    end
    os.exit(good and 0 or 1)
end

local function check()
    request = function()
        sent = sent + 1
        return requests[sent % #requests + 1]
    end
    response = function(status)
        answered = answered + 1
        if status ~= expected then
            wrong = wrong + 1
            last_wrong = status
        end
        if answered >= count then
            end_check()
        end
    end
end

function init(arguments)
    local file, seed = unpack(arguments)
    expected, count = tonumber(arguments[3]), tonumber(arguments[4])
    for token in io.lines(file) do
        requests[#requests + 1] = "GET / HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer " .. token .. "\r\n\r\n"
    end
    if expected then
        check()
    elseif #requests > 1 then
        math.randomseed(tonumber(seed))
        local random, keys = math.random, #requests
        request = function() return requests[random(keys)] end
    else
        wrk.headers["Host"] = "gateway"
        wrk.headers["Authorization"] = requests[1]:match("Authorization: ([^\r]*)")
    end
end

function done(summary)
    if expected then
        end_check()
    end
    local errors = summary.errors
    io.write(string.format("requests=%d microseconds=%d refused=%d broken=%d\n", summary.requests, summary.duration,
        errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
