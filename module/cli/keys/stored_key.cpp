#include "module/cli/keys/stored_key.hpp"

#include <utility>

namespace tollgate::cli {

namespace {

// An invalid time is parsed as 1970: a damaged record must not look like a key that never expires.
std::chrono::sys_seconds parse_unix_time(std::string_view text) {
    return std::chrono::sys_seconds(std::chrono::seconds(number_or_zero(text)));
}

std::string unix_time(std::chrono::sys_seconds time) {
    return std::to_string(time.time_since_epoch().count());
}

constexpr std::string_view kActive = "active";
constexpr std::string_view kDisabled = "disabled";

}  // namespace

std::optional<StoredKey> read_stored_key(std::string_view digest, const RedisReply& hash,
                                         const RedisReply& lifetime) {
    if (hash.elements.empty()) {
        return std::nullopt;
    }
    auto fields = hash.fields();
    const auto state = fields["state"];
    const bool replaced = state == kReplacedState;
    StoredKey key{.digest = std::string(digest),
                  .record = {.id = std::string(fields["id"]),
                             .name = std::string(fields["name"]),
                             .plan = std::string(fields["plan"]),
                             .limits = std::string(fields["limits"]),
                             .expires = std::nullopt,
                             .active = (replaced ? fields["successor_state"] : state) == kActive},
                  .created = parse_unix_time(fields["created"]),
                  .command = std::string(fields["command"]),
                  .pending = state == kPendingState,
                  .replaced = replaced,
                  .retiring = !replaced && lifetime.integer >= 0};
    if (const auto expires = fields["expires"]; !expires.empty()) {
        key.record.expires = parse_unix_time(expires);
    }
    return key;
}

std::vector<RedisCommand> write_stored_key(const std::string& hash, const StoredKey& key) {
    const KeyRecord& record = key.record;
    const std::string state(record.active ? kActive : kDisabled);
    RedisCommand set{
        "HSET", hash,        "id",    record.id,
        "plan", record.plan, "state", key.replaced ? std::string(kReplacedState) : state};
    RedisCommand remove{"HDEL", hash};
    const auto set_or_remove = [&](const char* field, const std::string& value) {
        if (value.empty()) {
            remove.emplace_back(field);
        } else {
            set.insert(set.end(), {field, value});
        }
    };
    set_or_remove("name", record.name);
    set_or_remove("limits", record.limits);
    set_or_remove("expires", record.expires ? unix_time(*record.expires) : "");
    set_or_remove("successor_state", key.replaced ? state : "");
    set_or_remove("command", key.command);
    std::vector<RedisCommand> commands{std::move(set)};
    if (remove.size() > 2) {
        commands.push_back(std::move(remove));
    }
    return commands;
}

}  // namespace tollgate::cli
