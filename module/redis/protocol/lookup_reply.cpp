#include "module/redis/protocol/lookup_reply.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "module/redis/protocol/reply.hpp"
#include "module/text/whole_number.hpp"

namespace tollgate::redis {

namespace {

constexpr std::size_t kFieldCount = 6;

/// Seconds since the epoch, within the range of the clock's arithmetic.
std::optional<std::chrono::sys_seconds> parse_time(std::string_view text) {
    constexpr std::int64_t kLatest = 253'402'300'799;  // the end of the year 9999
    const auto seconds = parse_whole_number(text, 0, kLatest);
    return seconds ? std::optional(std::chrono::sys_seconds(std::chrono::seconds(*seconds)))
                   : std::nullopt;
}

}  // namespace

Lookup read_lookup(std::span<const redisReply* const> fields) {
    const auto is_field = [](const redisReply* field) {
        return field->type == REDIS_REPLY_STRING || field->type == REDIS_REPLY_NIL;
    };
    if (fields.size() != kFieldCount || !std::ranges::all_of(fields, is_field)) {
        return {Lookup::Outcome::kUnexpected, {}};
    }
    if (fields[0]->type == REDIS_REPLY_NIL) {
        return {Lookup::Outcome::kUnknown, {}};
    }
    KeyRecord record{
        .id = std::string(text_of(*fields[0])),
        .name = std::string(text_of(*fields[1])),
        .plan = std::string(text_of(*fields[2])),
        .limits = std::string(text_of(*fields[3])),
        .expires = std::nullopt,
        .active = text_of(*fields[5]) == "active",
    };
    const auto expires = text_of(*fields[4]);
    if (!expires.empty()) {
        record.expires = parse_time(expires);
    }
    const bool good = is_valid_key_id(record.id) && is_valid_key_name(record.name) &&
                      is_valid_name(record.plan) && (expires.empty() || record.expires);
    return {good ? Lookup::Outcome::kFound : Lookup::Outcome::kMalformed,
            good ? record : KeyRecord{}};
}

}  // namespace tollgate::redis
