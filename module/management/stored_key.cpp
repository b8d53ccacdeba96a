#include "module/management/stored_key.hpp"

#include <utility>

#include "module/redis/protocol/redis_time.hpp"
#include "module/redis/protocol/schema.hpp"

namespace tollgate::management {

namespace {

// An invalid time is parsed as 1970: a damaged record must not look like a key that never expires.
std::chrono::sys_seconds time_or_epoch(std::string_view text) {
    return redis::parse_unix_time(text).value_or(std::chrono::sys_seconds{});
}

std::string unix_time(std::chrono::sys_seconds time) {
    return std::to_string(time.time_since_epoch().count());
}

namespace field = redis::record_field;
namespace state = redis::key_state;

}  // namespace

std::string_view state_of(const KeysOfId& keys, std::chrono::sys_seconds now) {
    if (keys.keys.empty()) {
        return "none";
    }
    if (keys.keys.front().replaced) {
        return state::kReplaced;
    }
    const KeyRecord& record = keys.keys.front().record;
    if (!record.active) {
        return state::kDisabled;
    }
    return record.is_valid_at(now) ? state::kActive : "expired";
}

std::optional<StoredKey> read_stored_key(std::string_view digest, const redis::Value& hash,
                                         const redis::Value& lifetime) {
    if (hash.elements.empty()) {
        return std::nullopt;
    }
    auto fields = hash.fields();
    const auto stored = fields[field::kState];
    const bool replaced = stored == state::kReplaced;
    StoredKey key{.digest = std::string(digest),
                  .record = {.id = std::string(fields[field::kId]),
                             .name = std::string(fields[field::kName]),
                             .plan = std::string(fields[field::kPlan]),
                             .limits = std::string(fields[field::kLimits]),
                             .scopes = std::string(fields[field::kScopes]),
                             .meta = std::string(fields[field::kMeta]),
                             .expires = std::nullopt,
                             .active = (replaced ? fields[field::kSuccessorState] : stored) ==
                                       state::kActive},
                  .created = time_or_epoch(fields[field::kCreated]),
                  .operation = std::string(fields[field::kOperation]),
                  .request = std::string(fields[field::kRequest]),
                  .rotation = std::string(fields[field::kRotation]),
                  .pending = stored == state::kPending,
                  .replaced = replaced,
                  .retiring = !replaced && lifetime.integer >= 0,
                  .stored_fields = hash.texts()};
    if (const auto expires = fields[field::kExpires]; !expires.empty()) {
        key.record.expires = time_or_epoch(expires);
    }
    return key;
}

std::vector<redis::Command> write_stored_key(const std::string& hash, const StoredKey& key) {
    const KeyRecord& record = key.record;
    const std::string current(record.active ? state::kActive : state::kDisabled);
    redis::Command set{"HSET",
                       hash,
                       std::string(field::kId),
                       record.id,
                       std::string(field::kPlan),
                       record.plan,
                       std::string(field::kState),
                       key.replaced ? std::string(state::kReplaced) : current};
    redis::Command remove{"HDEL", hash};
    const auto set_or_remove = [&](std::string_view name, const std::string& value) {
        if (value.empty()) {
            remove.emplace_back(name);
        } else {
            set.insert(set.end(), {std::string(name), value});
        }
    };
    set_or_remove(field::kName, record.name);
    set_or_remove(field::kLimits, record.limits);
    set_or_remove(field::kScopes, record.scopes);
    set_or_remove(field::kMeta, record.meta);
    set_or_remove(field::kExpires, record.expires ? unix_time(*record.expires) : "");
    set_or_remove(field::kSuccessorState, key.replaced ? current : "");
    set_or_remove(field::kOperation, key.operation);
    set_or_remove(field::kRequest, key.request);
    set_or_remove(field::kRotation, key.rotation);
    std::vector<redis::Command> commands{std::move(set)};
    if (remove.size() > 2) {
        commands.push_back(std::move(remove));
    }
    return commands;
}

}  // namespace tollgate::management
