-- The requests of wrk: each has a key of a file. `done` prints the result, for Wrk.pm.
--
--   wrk -s keys.lua URL -- file=TOKENS seed=1
--       A random key. With a single key, wrk runs no Lua per request.
--   … new=TOKENS from=7 every=20
--       Every 20th request has the next key of another file, beginning with its 7th, counted from 0.
--   … each=4 least=50000 most=200000
--       Ends as soon as each key had four requests, but not before 50,000 requests, and after 200,000 at the latest.
--       The result has only the numbers of requests and of new keys.
--   wrk -s keys.lua URL -- file=TOKENS status=200 count=1000
--       One key after the other until 1,000 answers have come. Exit status 1 if more than one in a thousand hadn't this
--       status, or too few came in time.

local option = {}
local requests, new_requests = {}, {}
local sent, answered, wrong, last_wrong = 0, 0, 0, nil
local threads = {}
taken = 0    -- new keys that were sent; global, so that `done` can get it

local function read_requests(file)
    local texts = {}
    for token in io.lines(file) do
        texts[#texts + 1] = "GET / HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer " .. token .. "\r\n\r\n"
    end
    return texts
end

local function end_check()
    -- limit_req grants one request in a minute.
    local good = wrong * 1000 <= answered and answered >= option.count
    if not good then
        io.stderr:write(string.format("%d of %d answers, %d of them wrong, the last with status %s\n", answered, option.count,
            wrong, tostring(last_wrong)))
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
        if status ~= option.status then
            wrong = wrong + 1
            last_wrong = status
        end
        if answered >= option.count then
            end_check()
        end
    end
end

local function send_random()
    math.randomseed(option.seed)
    local random, keys = math.random, #requests
    request = function() return requests[random(keys)] end
end

-- wrk's own thread:stop() does not end wrk. A key may have several lines.
local function stop_when_each_had_requests()
    local next_request = request
    local times, rare = {}, 0
    for _, text in ipairs(requests) do
        rare = rare + (times[text] and 0 or 1)
        times[text] = 0
    end
    request = function()
        local text = next_request and next_request() or requests[1]
        local count = times[text]
        if count then    -- not a new key
            times[text] = count + 1
            rare = rare - (count + 1 == option.each and 1 or 0)
        end
        sent = sent + 1
        if sent >= option.most or rare == 0 and sent >= option.least then
            io.write(string.format("requests=%d new=%d\n", sent, taken))
            os.exit(0)
        end
        return text
    end
end

local function send_new_keys()
    new_requests = read_requests(option.new)
    local next_request = request
    local left = option.every
    request = function()
        left = left - 1
        if left > 0 then
            return next_request()
        end
        left = option.every
        taken = taken + 1
        local text = new_requests[option.from + taken]
        if not text then
            io.stderr:write("no new key is left\n")
            os.exit(1)
        end
        return text
    end
end

function setup(thread)
    threads[#threads + 1] = thread
end

function init(arguments)
    for _, argument in ipairs(arguments) do
        local name, value = argument:match("^(%w+)=(.*)$")
        option[name] = tonumber(value) or value
    end
    requests = read_requests(option.file)
    request = nil
    if option.count then
        check()
    elseif #requests > 1 then
        send_random()
    else
        wrk.headers["Host"] = "gateway"
        wrk.headers["Authorization"] = requests[1]:match("Authorization: ([^\r]*)")
    end
    if option.new then
        send_new_keys()
    end
    if option.each then
        stop_when_each_had_requests()
    end
end

function done(summary)
    if option.count then
        end_check()
    end
    local errors, new = summary.errors, 0
    for _, thread in ipairs(threads) do
        new = new + thread:get("taken")
    end
    io.write(string.format("requests=%d microseconds=%d refused=%d broken=%d new=%d\n", summary.requests, summary.duration,
        errors.status, errors.connect + errors.read + errors.write + errors.timeout, new))
end
