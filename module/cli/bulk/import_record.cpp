#include "module/cli/bulk/import_record.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "module/key/api_key.hpp"
#include "module/key/bearer.hpp"
#include "module/management/key_changes.hpp"
#include "module/management/operation_error.hpp"
#include "module/text/parse_error.hpp"
#include "module/text/rfc3339.hpp"

namespace tollgate::cli {

namespace {

using management::StoredKey;
using nlohmann::json;

/// The members of an object. What is not taken is unknown.
class RecordMembers {
  public:
    explicit RecordMembers(json object) : object_(std::move(object)) {}

    /// The member with this name, and removes it. Empty if it is null or missing.
    std::optional<json> take(const std::string& name) {
        const auto found = object_.find(name);
        if (found == object_.end()) {
            return std::nullopt;
        }
        json value = std::move(*found);
        object_.erase(found);
        return value.is_null() ? std::nullopt : std::optional(std::move(value));
    }
    std::string take_text(const std::string& name) {
        const auto value = take(name);
        if (value && !value->is_string()) {
            throw InvalidRecord("\"" + name + "\" is not a text");
        }
        return value ? value->get<std::string>() : "";
    }
    std::optional<std::chrono::sys_seconds> take_time(const std::string& name) {
        const auto text = take_text(name);
        const auto time = parse_rfc3339(text);
        if (!text.empty() && !time) {
            throw InvalidRecord("\"" + name + "\" is not a time such as 2027-01-01T00:00:00Z");
        }
        return time;
    }
    void require_empty() const {
        if (!object_.empty()) {
            throw InvalidRecord("\"" + object_.begin().key() + "\" is not a member of a record");
        }
    }

  private:
    json object_;
};

bool is_active_state(const std::string& state) {
    if (state.empty() || state == "active" || state == "expired") {
        return true;
    }
    if (state != "disabled") {
        throw InvalidRecord("\"state\" is not active, disabled or expired");
    }
    return false;
}

std::string scopes_text(const json& scopes) {
    std::string text;
    for (const auto& scope : scopes) {
        if (!scope.is_string()) {
            throw InvalidRecord("\"scopes\" is not a list of texts");
        }
        text += (text.empty() ? "" : " ") + scope.get<std::string>();
    }
    return management::uniform_scopes(text);
}

KeyRecord take_record(RecordMembers& members) {
    KeyRecord record;
    record.id = members.take_text("id");
    record.plan = members.take_text("plan");
    record.name = members.take_text("name");
    if (const auto limits = members.take_text("limits"); !limits.empty()) {
        record.limits = management::uniform_limits(limits);
    }
    record.active = is_active_state(members.take_text("state"));
    record.expires = members.take_time("expires");
    if (const auto scopes = members.take("scopes")) {
        record.scopes = scopes_text(*scopes);
    }
    if (const auto meta = members.take("meta"); meta && !meta->empty()) {
        record.meta =
            write_meta(parse_meta(meta->dump(-1, ' ', false, json::error_handler_t::replace)));
    }
    management::require_valid_id(record.id);
    management::validate(management::KeyChanges{.plan = record.plan, .name = record.name});
    return record;
}

std::string checked_digest(const std::string& digest) {
    constexpr std::size_t kLength = 64;
    if (digest.size() != kLength ||
        digest.find_first_not_of("0123456789abcdef") != std::string::npos) {
        throw InvalidRecord("a digest is not 64 lower-case hexadecimal digits");
    }
    return digest;
}

std::string digest_of(const std::string& token) {
    if (!is_b64token(token) || !has_valid_checksum(token)) {
        throw InvalidRecord(
            "\"token\" is not a key: 1 to 512 letters, digits and -._~+/, and a "
            "right checksum if it begins with tg_");
    }
    return hex(sha256(token));
}

StoredKey take_digest(const json& element, const KeyRecord& record) {
    if (!element.is_object()) {
        throw InvalidRecord("\"digests\" is not a list of objects");
    }
    RecordMembers members(element);
    StoredKey key{.digest = checked_digest(members.take_text("sha256")), .record = record};
    key.created = members.take_time("created").value_or(std::chrono::sys_seconds{});
    const auto expires = members.take_time("expires");
    key.record.expires = expires ? expires : record.expires;
    const auto retiring = members.take("retiring");
    key.retiring = retiring && *retiring == true;
    members.take_time("used");  // by gateways of the exported prefix
    members.require_empty();
    if (key.retiring && !expires) {
        throw InvalidRecord("a retiring key has no \"expires\"");
    }
    return key;
}

std::vector<StoredKey> take_keys(RecordMembers& members, const KeyRecord& record) {
    std::vector<StoredKey> keys;
    if (const auto token = members.take_text("token"); !token.empty()) {
        keys.push_back({.digest = digest_of(token), .record = record});
    }
    if (const auto digest = members.take_text("digest"); !digest.empty()) {
        keys.push_back({.digest = checked_digest(digest), .record = record});
    }
    if (const auto digests = members.take("digests")) {
        for (const auto& element : *digests) {
            keys.push_back(take_digest(element, record));
        }
    }
    std::set<std::string> names;
    std::size_t current = 0;
    for (const auto& key : keys) {
        current += key.retiring ? 0 : 1;
        if (!names.insert(key.digest).second) {
            throw InvalidRecord("a key is given twice");
        }
    }
    if (current != 1) {
        throw InvalidRecord(
            "a record needs one key that is not retiring: \"token\", \"digest\" or "
            "\"digests\"");
    }
    return keys;
}

}  // namespace

management::KeysOfId read_import_record(std::string_view line, std::chrono::sys_seconds now) {
    json object = json::parse(line, nullptr, false);
    if (!object.is_object()) {
        throw InvalidRecord("the line is not a JSON object");
    }
    try {
        RecordMembers members(std::move(object));
        const auto record = take_record(members);
        const auto created = members.take_time("created");
        management::KeysOfId keys{.id = record.id, .keys = take_keys(members, record)};
        members.require_empty();
        std::erase_if(keys.keys, [&](const StoredKey& key) {
            return key.retiring && *key.record.expires <= now;
        });
        for (auto& key : keys.keys) {
            if (key.created == std::chrono::sys_seconds{}) {
                key.created = created.value_or(now);
            }
        }
        return keys;
    } catch (const ParseError& error) {
        throw InvalidRecord("\"meta\": " + std::string(error.what()));
    } catch (const management::OperationError& error) {
        throw InvalidRecord(error.what());
    }
}

}  // namespace tollgate::cli
