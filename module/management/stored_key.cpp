#include "module/management/stored_key.hpp"

#include <array>
#include <cstddef>
#include <utility>

#include "module/key/digest.hpp"
#include "module/redis/protocol/record_fields.hpp"
#include "module/redis/protocol/redis_time.hpp"
#include "module/redis/protocol/schema.hpp"

namespace tollgate::management {

namespace {

namespace field = redis::record_field;
namespace state = redis::key_state;

/// What an operation stores with the record.
constexpr std::array kOwnFields{std::pair(field::kOperation, &StoredKey::operation),
                                std::pair(field::kRequest, &StoredKey::request),
                                std::pair(field::kRotation, &StoredKey::rotation),
                                std::pair(field::kHint, &StoredKey::hint),
                                std::pair(field::kIssued, &StoredKey::issued)};

/// Whether a note has the field if it has BilledFields::kKept.
bool is_billed(std::string_view name) {
    return name == field::kCreated ||
           std::ranges::any_of(redis::record_fields(), [&](const redis::RecordField& part) {
               return part.sets_quotas && part.name == name;
           });
}

}  // namespace

std::chrono::sys_seconds StoredKey::issue_time() const {
    return redis::parse_unix_time(issued).value_or(created);
}

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
    if (hash.kind == redis::Value::Kind::kInteger) {
        return StoredKey{.digest = std::string(digest), .is_invalid = true};
    }
    if (hash.elements.empty()) {
        return std::nullopt;
    }
    const auto fields = hash.fields();
    if (fields[field::kId].empty() && !fields[field::kRevoked].empty()) {
        StoredKey revoked{.digest = std::string(digest),
                          .created = redis::parse_unix_time(fields[field::kCreated])
                                         .value_or(std::chrono::sys_seconds{}),
                          .revoked_of = std::string(fields[field::kRevoked]),
                          .stored_fields = hash.texts()};
        for (const auto& part : redis::record_fields()) {
            if (part.sets_quotas) {
                redis::read_field(part, fields[part.name], revoked.record);
            }
        }
        return revoked;
    }
    const auto stored_state = fields[field::kState];
    // An invalid time is 1970, as in the record.
    StoredKey key{
        .digest = std::string(digest),
        .created =
            redis::parse_unix_time(fields[field::kCreated]).value_or(std::chrono::sys_seconds{}),
        .pending = stored_state == state::kPending,
        .replaced = stored_state == state::kReplaced,
        .is_invalid = fields[field::kId].empty(),
        .stored_fields = hash.texts()};
    // An operation can repair what is not valid.
    for (const auto& part : redis::record_fields()) {
        const bool is_of_successor = key.replaced && part.name == field::kState;
        redis::read_field(part, fields[is_of_successor ? field::kSuccessorState : part.name],
                          key.record);
    }
    key.record.retiring = !key.replaced && lifetime.integer >= 0;
    for (const auto& [name, text] : kOwnFields) {
        key.*text = fields[name];
    }
    return key;
}

Condition unchanged(std::string hash, const StoredKey& read) {
    if (read.is_invalid && read.stored_fields.empty()) {
        return {.command = reading_of_any(std::move(hash)), .elements = {"-1"}};
    }
    return {.command = {"HGETALL", std::move(hash)}, .elements = read.stored_fields};
}

std::vector<redis::Command> write_revoked(const std::string& hash, const StoredKey& read,
                                          std::string id, BilledFields billed) {
    redis::Command note{"HSET", hash, std::string(field::kRevoked), std::move(id)};
    std::vector<redis::Command> commands;
    if (read.is_invalid && read.stored_fields.empty()) {
        // What is stored is no hash.
        commands.push_back({"DEL", hash});
        commands.push_back(std::move(note));
        return commands;
    }
    commands.push_back(std::move(note));
    redis::Command remove{"HDEL", hash};
    for (std::size_t i = 0; i < read.stored_fields.size(); i += 2) {
        const auto& name = read.stored_fields[i];
        if (name != field::kRevoked && (billed == BilledFields::kOmitted || !is_billed(name))) {
            remove.push_back(name);
        }
    }
    if (remove.size() > 2) {
        commands.push_back(std::move(remove));
        // A key that is retiring has a lifetime.
        commands.push_back({"PERSIST", hash});
    }
    return commands;
}

std::vector<redis::Command> write_stored_key(const std::string& hash, const StoredKey& key) {
    redis::Command set{"HSET", hash};
    redis::Command remove{"HDEL", hash};
    const auto set_or_remove = [&](std::string_view name, const std::string& value) {
        if (value.empty()) {
            remove.emplace_back(name);
        } else {
            set.insert(set.end(), {std::string(name), value});
        }
    };
    std::string successor_state;
    for (const auto& part : redis::record_fields()) {
        auto value = redis::stored_text(part, key.record);
        if (key.pending && part.name == field::kState) {
            value = state::kPending;
        } else if (key.replaced && part.name == field::kState) {
            successor_state = std::exchange(value, state::kReplaced);
        }
        set_or_remove(part.name, value);
    }
    set_or_remove(field::kSuccessorState, successor_state);
    for (const auto& [name, text] : kOwnFields) {
        set_or_remove(name, key.*text);
    }
    std::vector<redis::Command> commands{std::move(set)};
    if (remove.size() > 2) {
        commands.push_back(std::move(remove));
    }
    return commands;
}

std::string version_of(const StoredKey& key) {
    constexpr std::size_t kDigits = 32;
    StoredKey shown = key;
    shown.operation.clear();
    auto commands = write_stored_key(key.digest, shown);
    commands.push_back({redis::unix_time(key.created)});
    // With its length before each word, different records have different texts.
    std::string text;
    for (const auto& command : commands) {
        for (const auto& word : command) {
            text.append(std::to_string(word.size())).append(":").append(word);
        }
    }
    return hex(sha256(text)).substr(0, kDigits);
}

std::optional<std::string> version_of(const KeysOfId& keys) {
    return keys.keys.empty() ? std::nullopt : std::optional(version_of(keys.keys.front()));
}

}  // namespace tollgate::management
