#include "module/cli/bulk/import_record.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "module/key/api_key.hpp"
#include "module/key/bearer.hpp"
#include "module/management/admin/key_body.hpp"
#include "module/management/key_changes.hpp"
#include "module/management/operation_error.hpp"
#include "module/redis/protocol/redis_time.hpp"
#include "module/text/rfc3339.hpp"

namespace tollgate::cli {

namespace {

using management::JsonBody;
using management::StoredKey;
using Time = std::chrono::sys_seconds;

constexpr std::size_t kMostKeysOfId = 2;

[[noreturn]] void refuse_record(const std::string& why) {
    throw management::OperationError(management::Reason::kInvalid, why);
}

std::optional<Time> take_time(JsonBody& members, const std::string& name) {
    if (members.take_null(name)) {
        return std::nullopt;
    }
    const auto text = members.take_text(name);
    const auto time = text ? parse_rfc3339(*text) : std::nullopt;
    if (text && !time) {
        refuse_record(name + ": use a time such as 2027-01-01T00:00:00Z, or null");
    }
    return time;
}

KeyRecord take_record(JsonBody& members) {
    KeyRecord record;
    record.id = members.take_text("id").value_or("");
    management::require_valid_id(record.id);
    const auto values = management::take_changes(members, std::nullopt);
    management::require_complete(values);
    management::apply(values, record);
    return record;
}

std::string digest_of(const std::string& token) {
    if (!is_b64token(token) || !has_valid_checksum(token)) {
        refuse_record("\"token\" is not a key: " + std::string(kTokenRule) +
                      ", and a right checksum if it begins with tg_");
    }
    return hex(sha256(token));
}

/// The hint of a key that was exported: see key_hint().
std::string take_hint(JsonBody& members) {
    auto hint = members.take_text_or_null("hint").value_or("");
    if (hint.size() > kHintLength ||
        !std::ranges::all_of(hint, [](char c) { return c > ' ' && c <= '~'; })) {
        refuse_record("hint: use the last four characters of the key, or null");
    }
    return hint;
}

StoredKey take_exported_key(const JsonBody::Object& element, const KeyRecord& record) {
    JsonBody members(element);
    auto digest = management::take_digest(members, "sha256");
    if (!digest) {
        refuse_record("an element of \"digests\" has no \"sha256\"");
    }
    StoredKey key{.digest = std::move(*digest), .record = record};
    key.created = take_time(members, "created").value_or(Time{});
    const auto expires = take_time(members, "expires");
    key.record.expires = expires ? expires : record.expires;
    key.record.retiring = members.take_flag("retiring").value_or(false);
    take_time(members, "used");  // by gateways of the exported prefix
    key.hint = take_hint(members);
    members.require_empty();
    if (key.record.retiring && !expires) {
        refuse_record("a retiring key has no \"expires\"");
    }
    return key;
}

std::vector<StoredKey> take_keys(JsonBody& members, const KeyRecord& record) {
    std::vector<StoredKey> keys;
    if (const auto token = members.take_text("token")) {
        keys.push_back({.digest = digest_of(*token), .record = record, .hint = key_hint(*token)});
    }
    if (auto digest = management::take_digest(members, "digest")) {
        keys.push_back({.digest = std::move(*digest), .record = record});
    }
    for (const auto& element : members.take_objects("digests")) {
        keys.push_back(take_exported_key(element, record));
    }
    std::set<std::string> names;
    std::size_t current = 0;
    for (const auto& key : keys) {
        current += key.record.retiring ? 0 : 1;
        if (!names.insert(key.digest).second) {
            refuse_record("a key is given twice");
        }
    }
    if (current != 1) {
        refuse_record(
            "a record needs one key that is not retiring: \"token\", \"digest\" or \"digests\"");
    }
    // The sets of digests are read at once: they must stay small.
    if (keys.size() > kMostKeysOfId) {
        refuse_record("an id has at most two keys: one of them is retiring");
    }
    std::stable_partition(keys.begin(), keys.end(),
                          [](const StoredKey& key) { return !key.record.retiring; });
    return keys;
}

management::GroupRecord take_group(JsonBody& members) {
    KeyRecord record;
    record.id = members.take_text("group").value_or("");
    management::require_valid_group(record.id);
    const auto changes = management::take_changes(members, std::nullopt);
    members.require_empty();
    for (const auto& field : redis::record_fields()) {
        if (changes.values.contains(field.name) && !field.sets_quotas) {
            refuse_record(std::string(field.name) + " is no value of a group");
        }
    }
    management::require_complete(changes);
    management::apply(changes, record);
    return management::group_of(record);
}

management::KeysOfId take_id(JsonBody& members, Time now) {
    const auto record = take_record(members);
    const auto created = take_time(members, "created");
    management::KeysOfId keys{.id = record.id, .keys = take_keys(members, record)};
    members.require_empty();
    std::erase_if(keys.keys, [&](const StoredKey& key) {
        return key.record.retiring && *key.record.expires <= now;
    });
    for (auto& key : keys.keys) {
        if (key.created == Time{}) {
            key.created = created.value_or(now);
        }
        if (created && *created != key.created) {
            key.issued = redis::unix_time(*created);
        }
    }
    return keys;
}

}  // namespace

management::KeysOfId read_import_record(std::string_view line, Time now) {
    JsonBody members(line, "the line");
    return take_id(members, now);
}

std::optional<management::Credit> read_import_credit(std::string_view line) {
    // Most lines are none. A name in a JSON text may be escaped, but no export writes it so.
    if (line.find("\"units\"") == std::string_view::npos) {
        return std::nullopt;
    }
    JsonBody members(line, "the line");
    if (!members.has("units")) {
        return std::nullopt;
    }
    const bool is_group = members.has("group");
    management::Credit credit = management::take_credit(members);
    credit.owner = {.id = members.take_text(is_group ? "group" : "id").value_or(""),
                    .of = is_group ? management::UsageOf::kGroup : management::UsageOf::kId};
    credit.may_be_subject = true;
    members.require_empty();
    if (is_group) {
        management::require_valid_group(credit.owner.id);
    } else {
        management::require_valid_id(credit.owner.id);
    }
    return credit;
}

std::variant<management::DeclaredId, management::GroupRecord> read_declaration(
    std::string_view line, Time now) {
    JsonBody members(line, "the line");
    if (members.has("group") && !members.has("id")) {
        return take_group(members);
    }
    const bool has_state = members.has(std::string(redis::record_field::kState));
    return management::DeclaredId{.keys = take_id(members, now), .has_state = has_state};
}

}  // namespace tollgate::cli
