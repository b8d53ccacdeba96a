-- The function of Tollgate in Lua, with ngx_lua and lua-resty-redis, written for speed:
--
--   lua_shared_dict api_keys 64m;
--   init_by_lua_block { require("lua_gateway").use("unix:/…", "prefix:", { free = { { 60, 60 }, { 86400, 1000 } } }) }
--   location / { access_by_lua_block { require("lua_gateway").access() } proxy_set_header Authorization ""; proxy_pass …; }
--
-- A plan's windows are {seconds, limit}, the longest last. Known keys are cached in each worker and in the dictionary.
-- A request takes one EVALSHA over a pooled connection, which decides all windows at once.

local ffi = require "ffi"
local lrucache = require "resty.lrucache"
local redis = require "nginx.redis"

local ngx, find, sub = ngx, string.find, string.sub
local re_find = ngx.re.find

ffi.cdef "unsigned char *SHA256(const unsigned char *d, size_t n, unsigned char *md);"
local digest_buffer = ffi.new("unsigned char[32]")

local _M = {}

local key_seconds, unknown_seconds = 10, 1
local keys_of_worker = assert(lrucache.new(20000))
local address, prefix
local arguments_of_plan = {}

-- One status reply: ngx_lua reads it with one call, but an array with one call per element.
local script = [[
local now = tonumber(redis.call('TIME')[1])
local fields = {}
for i = 1, #ARGV, 2 do
    fields[i] = ARGV[i] .. '.number'
    fields[i + 1] = ARGV[i] .. '.count'
end
local values = redis.call('HMGET', KEYS[1], unpack(fields))
local granted = true
local counts, write = {}, {}
for i = 1, #ARGV, 2 do
    local number = math.floor(now / ARGV[i])
    local count = tonumber(values[i]) == number and tonumber(values[i + 1]) or 0
    granted = granted and count < tonumber(ARGV[i + 1])
    counts[i] = count
    write[#write + 1] = fields[i]
    write[#write + 1] = number
    write[#write + 1] = fields[i + 1]
    write[#write + 1] = count + 1
end
if granted then
    redis.call('HSET', KEYS[1], unpack(write))
    local longest = ARGV[#ARGV - 1]
    if counts[#ARGV - 1] == 0 then
        redis.call('EXPIREAT', KEYS[1], (math.floor(now / longest) + 1) * longest)
    end
end
local limit, left, reset
for i = 1, #ARGV, 2 do
    local limit_here, period = tonumber(ARGV[i + 1]), tonumber(ARGV[i])
    local left_here = limit_here - counts[i] - (granted and 1 or 0)
    if not left or left_here <= left then
        limit, left, reset = limit_here, left_here, (math.floor(now / period) + 1) * period
    end
end
return {ok = string.format('%d %.0f %.0f %d %d', granted and 1 or 0, limit, left, reset, reset - now)}
]]
local script_sha1

function _M.use(redis_address, redis_prefix, plans)
    -- The cached records make each garbage collection long. Fewer collections cost some megabytes.
    collectgarbage("setpause", 400)
    address, prefix = redis_address, redis_prefix
    script_sha1 = ngx.sha1_bin(script):gsub(".", function(c) return string.format("%02x", c:byte()) end)
    for name, windows in pairs(plans) do
        local arguments = {}
        for _, window in ipairs(windows) do
            arguments[#arguments + 1] = tostring(window[1])
            arguments[#arguments + 1] = string.format("%.0f", window[2])
        end
        arguments_of_plan[name] = arguments
    end
end

local function refuse(status, code, message)
    local body = '{"code":"' .. code .. '","message":"' .. message .. '","status":' .. status .. "}"
    ngx.status = status
    local header = ngx.header
    header["Content-Type"] = "application/json"
    header["Content-Length"] = #body
    ngx.print(body)
    return ngx.exit(status)
end

local function missing_key()
    ngx.header["WWW-Authenticate"] = 'Bearer realm="api"'
    return refuse(401, "missing_api_key", "An API key is required.")
end

local function invalid_key()
    ngx.header["WWW-Authenticate"] = 'Bearer realm="api", error="invalid_token"'
    return refuse(401, "invalid_api_key", "The API key is not valid.")
end

local function unavailable()
    ngx.header["Retry-After"] = 1
    return refuse(503, "service_unavailable", "Try again later.")
end

local function connect()
    local connection = redis:new()
    connection:set_timeout(1000)
    local ok, failure = connection:connect(address)
    return ok and connection, failure
end

local function keep(connection)
    connection:set_keepalive(60000, 64)
end

local function read_record(digest)
    local name = prefix .. "key:" .. digest:gsub(".", function(c) return string.format("%02x", c:byte()) end)
    local connection = connect()
    if not connection then
        return nil, "unavailable"
    end
    local fields = connection:hmget(name, "id", "plan", "state", "expires")
    if not fields then
        return nil, "unavailable"
    end
    keep(connection)
    local id, plan, state, expires = unpack(fields)
    local good = id ~= ngx.null and state == "active" and (expires == ngx.null or tonumber(expires) > ngx.time())
    return good and plan .. " " .. id or ""
end

-- The record of the key with this digest, or false if there is no valid one.
local function find_record(digest)
    local record = keys_of_worker:get(digest)
    if record ~= nil then
        return record
    end
    local known = ngx.shared.api_keys
    local text, failure = known:get(digest)
    if not text then
        text, failure = read_record(digest)
        if not text then
            return nil, failure
        end
        known:set(digest, text, text == "" and unknown_seconds or key_seconds)
    end
    local space = find(text, " ", 1, true)
    record = space and {
        quota = prefix .. "quota:{" .. sub(text, space + 1) .. "}:api",
        arguments = arguments_of_plan[sub(text, 1, space - 1)],
    } or false
    keys_of_worker:set(digest, record, record and key_seconds or unknown_seconds)
    return record
end

local function acquire(record)
    local connection = connect()
    if not connection then
        return nil
    end
    local reply, failure = connection:evalsha(script_sha1, 1, record.quota, unpack(record.arguments))
    if reply == false and find(failure, "NOSCRIPT", 1, true) then
        reply, failure = connection:eval(script, 1, record.quota, unpack(record.arguments))
    end
    if reply ~= nil then
        keep(connection)
    end
    return reply
end

function _M.access()
    local authorization = ngx.var.http_authorization
    if not authorization then
        return missing_key()
    end
    local from, to = re_find(authorization, [[^bearer +([A-Za-z0-9._~+/-]+=*)$]], "ijo", nil, 1)
    if not from or to - from >= 512 then
        return invalid_key()
    end
    local token = sub(authorization, from, to)
    ffi.C.SHA256(token, #token, digest_buffer)
    local record, failure = find_record(ffi.string(digest_buffer, 32))
    if failure then
        return unavailable()
    end
    if not record then
        return invalid_key()
    end
    if not record.arguments then
        return refuse(403, "plan_not_allowed", "The plan of this key has no place here.")
    end

    local reply = acquire(record)
    if not reply then
        return unavailable()
    end
    local granted, limit, left, reset, wait = reply:match("^(%d) (%d+) (%d+) (%d+) (%d+)$")
    local header = ngx.header
    header["X-RateLimit-Limit"] = limit
    header["X-RateLimit-Remaining"] = left
    header["X-RateLimit-Reset"] = reset
    if granted == "0" then
        header["Retry-After"] = wait
        return refuse(429, "rate_limit_exceeded", "The quota is spent.")
    end
end

return _M
