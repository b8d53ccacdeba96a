#include "module/redis/protocol/lookup.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "module/redis/protocol/node_script.hpp"
#include "module/redis/protocol/record_fields.hpp"
#include "module/redis/protocol/reply.hpp"
#include "module/redis/protocol/schema.hpp"

namespace tollgate::redis {

namespace {

constexpr std::string_view kLookupText = R"lua(
-- Reads a key's record, KEYS[1]. Returns the token ARGV[1], the fields, the first of which is the id, the id of a
-- revoked key, and the lifetime; or the token and WRONGTYPE if there is something else under this name.

local values = redis.pcall('HMGET', KEYS[1], $fields)
if values.err then
    return values.err:find('WRONGTYPE', 1, true) and {ARGV[1], 'WRONGTYPE'} or values
end
-- Only a key that is retiring has a lifetime.
local lifetime = redis.call('PTTL', KEYS[1])
-- "No such key" must come from a master. A write that has no effect on a missing key fails elsewhere.
if not values[1] and lifetime == -2 then
    local written = redis.pcall('PEXPIREAT', KEYS[1], 0)
    if type(written) == 'table' then
        return written
    end
end
values[#values + 1] = lifetime
return {ARGV[1], unpack(values)}
)lua";

std::string lookup_text() {
    constexpr std::string_view kPlace = "$fields";
    std::string names;
    for (const auto& field : record_fields()) {
        names.append("'").append(field.name).append("', ");
    }
    names.append("'").append(record_field::kRevoked).append("'");
    std::string text(kLookupText);
    return text.replace(text.find(kPlace), kPlace.size(), names);
}

}  // namespace

const Script& lookup_script() {
    static const Script script = make_node_script(lookup_text());
    return script;
}

Lookup read_lookup(ReplyValues values) {
    const auto is_field = [](const redisReply* value) {
        return value->type == REDIS_REPLY_STRING || value->type == REDIS_REPLY_NIL;
    };
    if (values.size() == 1 && text_of(*values.front()) == "WRONGTYPE") {
        return {Lookup::Outcome::kMalformed, {}};
    }
    const auto fields = record_fields();
    if (values.size() != fields.size() + 2 || values.back()->type != REDIS_REPLY_INTEGER ||
        !std::ranges::all_of(values.first(fields.size() + 1), is_field)) {
        return {Lookup::Outcome::kUnexpected, {}};
    }
    if (values.front()->type == REDIS_REPLY_NIL) {
        const std::string_view revoked_of = text_of(*values[fields.size()]);
        if (!is_valid_key_id(revoked_of)) {
            return {Lookup::Outcome::kUnknown, {}};
        }
        Lookup lookup{Lookup::Outcome::kRevoked, {}};
        lookup.record.id = revoked_of;
        return lookup;
    }
    Lookup lookup{Lookup::Outcome::kFound, {}};
    lookup.record.retiring = values.back()->integer >= 0;
    for (std::size_t i = 0; i < fields.size(); ++i) {
        if (!read_field(fields[i], text_of(*values[i]), lookup.record)) {
            return {Lookup::Outcome::kMalformed, {}};
        }
    }
    return lookup;
}

}  // namespace tollgate::redis
