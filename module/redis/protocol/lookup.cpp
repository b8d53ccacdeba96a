#include "module/redis/protocol/lookup.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "module/key/meta.hpp"
#include "module/key/scopes.hpp"
#include "module/redis/protocol/redis_time.hpp"
#include "module/redis/protocol/reply.hpp"
#include "module/redis/protocol/schema.hpp"
#include "module/text/parse_error.hpp"

namespace tollgate::redis {

namespace {

constexpr std::string_view kLookupText = R"lua(
-- Reads a key's record, KEYS[1]. Returns the token ARGV[1], then the fields.

local values = redis.pcall('HMGET', KEYS[1], $id, $name, $plan, $limits, $expires, $state,
    $scopes, $meta)
if values.err then
    return values
end
-- Only a key that is retiring has a lifetime.
values[9] = redis.call('PTTL', KEYS[1])
-- "No such key" must come from a master. A write that has no effect on a missing key fails elsewhere.
if not values[1] and values[9] == -2 then
    local written = redis.pcall('PEXPIREAT', KEYS[1], 0)
    if type(written) == 'table' then
        return written
    end
end
return {ARGV[1], unpack(values, 1, 9)}
)lua";

/// The fields in the order of the script's HMGET, and the lifetime.
enum Field : std::size_t {
    kId,
    kName,
    kPlan,
    kLimits,
    kExpires,
    kState,
    kScopes,
    kMeta,
    kLifetime,
    kFieldCount
};

/// Another program may have stored other forms. False if the texts are invalid.
bool make_canonical(std::string_view scopes, std::string_view meta, KeyRecord& record) {
    try {
        record.scopes = parse_scopes(scopes);
        record.meta = meta.empty() ? "" : write_meta(parse_meta(meta));
        return true;
    } catch (const ParseError&) {
        return false;
    }
}

}  // namespace

const Script& lookup_script() {
    static const Script script = make_script(kLookupText, {{"$id", record_field::kId},
                                                           {"$name", record_field::kName},
                                                           {"$plan", record_field::kPlan},
                                                           {"$limits", record_field::kLimits},
                                                           {"$expires", record_field::kExpires},
                                                           {"$state", record_field::kState},
                                                           {"$scopes", record_field::kScopes},
                                                           {"$meta", record_field::kMeta}});
    return script;
}

Lookup read_lookup(std::span<const redisReply* const> fields) {
    const auto is_field = [](const redisReply* field) {
        return field->type == REDIS_REPLY_STRING || field->type == REDIS_REPLY_NIL;
    };
    if (fields.size() != kFieldCount || fields[kLifetime]->type != REDIS_REPLY_INTEGER ||
        !std::ranges::all_of(fields.first<kLifetime>(), is_field)) {
        return {Lookup::Outcome::kUnexpected, {}};
    }
    if (fields[kId]->type == REDIS_REPLY_NIL) {
        return {Lookup::Outcome::kUnknown, {}};
    }
    KeyRecord record{
        .id = std::string(text_of(*fields[kId])),
        .name = std::string(text_of(*fields[kName])),
        .plan = std::string(text_of(*fields[kPlan])),
        .limits = std::string(text_of(*fields[kLimits])),
        .scopes = {},
        .meta = {},
        .expires = std::nullopt,
        .active = text_of(*fields[kState]) == key_state::kActive,
        .retiring = fields[kLifetime]->integer >= 0,
    };
    const auto expires = text_of(*fields[kExpires]);
    if (!expires.empty()) {
        record.expires = parse_unix_time(expires);
    }
    const bool good = is_valid_key_id(record.id) && is_valid_key_name(record.name) &&
                      is_valid_name(record.plan) && (expires.empty() || record.expires) &&
                      make_canonical(text_of(*fields[kScopes]), text_of(*fields[kMeta]), record);
    return {good ? Lookup::Outcome::kFound : Lookup::Outcome::kMalformed,
            good ? record : KeyRecord{}};
}

}  // namespace tollgate::redis
