#include "module/redis/protocol/changed_names.hpp"

#include "module/redis/protocol/reply.hpp"

namespace tollgate::redis {

namespace {

/// So that a reply fits into ReplyLimits, however long the ids are.
constexpr std::size_t kMostNames = 400;

constexpr std::string_view kChangedNamesText = R"lua(
-- Reads the members of the sorted set KEYS[1] whose score, a time in ms, is within the last ARGV[2] ms. Returns the token
-- ARGV[1], whether the set exists, then at most 401 names. A single text instead is an error of this set alone: an
-- error reply could mean that Redis refuses the connection.

local exists = redis.pcall('EXISTS', KEYS[1])
if type(exists) == 'table' then
    return {ARGV[1], exists.err}
end
local time = redis.call('TIME')
local since = time[1] * 1000 + math.floor(time[2] / 1000) - ARGV[2]
local names = redis.pcall('ZRANGEBYSCORE', KEYS[1], since, '+inf', 'LIMIT', 0, 401)
if names.err then
    return {ARGV[1], names.err}
end
return {ARGV[1], exists, names}
)lua";

}  // namespace

const Script& changes_script() {
    static const Script script = make_script(kChangedNamesText);
    return script;
}

std::optional<std::vector<std::string_view>> read_changed_names(
    std::span<const redisReply* const> values) {
    if (values.size() != 2 || values[0]->type != REDIS_REPLY_INTEGER || values[0]->integer != 1 ||
        values[1]->type != REDIS_REPLY_ARRAY) {
        return std::nullopt;
    }
    const auto elements = elements_of(*values[1]);
    if (elements.size() > kMostNames) {
        return std::nullopt;
    }
    std::vector<std::string_view> names;
    names.reserve(elements.size());
    for (const redisReply* element : elements) {
        if (element->type != REDIS_REPLY_STRING) {
            return std::nullopt;
        }
        names.push_back(text_of(*element));
    }
    return names;
}

}  // namespace tollgate::redis
