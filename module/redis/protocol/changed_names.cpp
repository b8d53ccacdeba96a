#include "module/redis/protocol/changed_names.hpp"

#include "module/redis/protocol/reply.hpp"

namespace tollgate::redis {

namespace {

/// So that a reply fits into ReplyLimits, however long the ids are.
constexpr std::size_t kMostNames = 400;

constexpr std::string_view kChangedNamesText = R"lua(
-- Reads the members of the sorted set KEYS[1] whose score, a time in ms, is within the last ARGV[2] ms. Returns the token
-- ARGV[1], whether the set exists, then at most 401 names, each followed by its age in ms. A single text instead is an error of this set alone: an
-- error reply could mean that Redis refuses the connection.

local exists = redis.pcall('EXISTS', KEYS[1])
if type(exists) == 'table' then
    return {ARGV[1], exists.err}
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local names = redis.pcall('ZRANGEBYSCORE', KEYS[1], now - ARGV[2], '+inf', 'WITHSCORES', 'LIMIT', 0, 401)
if names.err then
    return {ARGV[1], names.err}
end
for i = 2, #names, 2 do
    -- A score of a former master can be later than the clock of this one.
    names[i] = math.max(0, now - names[i])
end
return {ARGV[1], exists, names}
)lua";

}  // namespace

const Script& changes_script() {
    static const Script script = make_script(kChangedNamesText);
    return script;
}

std::optional<std::vector<ChangedName>> read_changed_names(
    std::span<const redisReply* const> values) {
    if (values.size() != 2 || values[0]->type != REDIS_REPLY_INTEGER || values[0]->integer != 1 ||
        values[1]->type != REDIS_REPLY_ARRAY) {
        return std::nullopt;
    }
    const auto elements = elements_of(*values[1]);
    if (elements.size() > 2 * kMostNames || elements.size() % 2 != 0) {
        return std::nullopt;
    }
    std::vector<ChangedName> names;
    names.reserve(elements.size() / 2);
    for (std::size_t i = 0; i < elements.size(); i += 2) {
        const redisReply& age = *elements[i + 1];
        if (elements[i]->type != REDIS_REPLY_STRING || age.type != REDIS_REPLY_INTEGER ||
            age.integer < 0) {
            return std::nullopt;
        }
        names.push_back({text_of(*elements[i]), std::chrono::milliseconds(age.integer)});
    }
    return names;
}

}  // namespace tollgate::redis
