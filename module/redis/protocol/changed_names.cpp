#include "module/redis/protocol/changed_names.hpp"

#include "module/redis/protocol/reply.hpp"

namespace tollgate::redis {

namespace {

/// So that a reply fits into ReplyLimits, however long the ids are.
constexpr std::size_t kMostNames = 400;

constexpr std::string_view kChangedNamesText = R"lua(
-- Reads the members of the sorted set KEYS[1] whose score, a time in ms, is within the last ARGV[2] ms. Returns the token
-- ARGV[1], whether the set exists, then at most 400 names, earliest first, each followed by its age in ms. If there may be
-- more, the score of the last name follows: it is ARGV[3] of the next call, which reads on from there. In the first call,
-- ARGV[3] is empty. A single text instead is an error of this set alone: an error reply could mean that Redis refuses the
-- connection.

local exists = redis.pcall('EXISTS', KEYS[1])
if type(exists) == 'table' then
    return {ARGV[1], exists.err}
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local first = ARGV[3] ~= '' and ARGV[3] or now - ARGV[2]
local names = redis.pcall('ZRANGEBYSCORE', KEYS[1], first, '+inf', 'WITHSCORES', 'LIMIT', 0, 400)
if names.err then
    return {ARGV[1], names.err}
end
local last = names[800]
for i = 2, #names, 2 do
    -- A score of a former master can be later than the clock of this one.
    names[i] = math.max(0, now - names[i])
end
return {ARGV[1], exists, names, last}
)lua";

}  // namespace

const Script& changes_script() {
    static const Script script = make_script(kChangedNamesText);
    return script;
}

std::optional<ChangedNames> read_changed_names(std::span<const redisReply* const> values) {
    const bool has_more = values.size() == 3 && values[2]->type == REDIS_REPLY_STRING;
    if ((values.size() != 2 && !has_more) || values[0]->type != REDIS_REPLY_INTEGER ||
        values[0]->integer != 1 || values[1]->type != REDIS_REPLY_ARRAY) {
        return std::nullopt;
    }
    const auto elements = elements_of(*values[1]);
    if (elements.size() > 2 * kMostNames || elements.size() % 2 != 0) {
        return std::nullopt;
    }
    ChangedNames changed;
    changed.names.reserve(elements.size() / 2);
    for (std::size_t i = 0; i < elements.size(); i += 2) {
        const redisReply& age = *elements[i + 1];
        if (elements[i]->type != REDIS_REPLY_STRING || age.type != REDIS_REPLY_INTEGER ||
            age.integer < 0) {
            return std::nullopt;
        }
        changed.names.push_back({text_of(*elements[i]), std::chrono::milliseconds(age.integer)});
    }
    if (has_more) {
        changed.next = text_of(*values[2]);
    }
    return changed;
}

}  // namespace tollgate::redis
