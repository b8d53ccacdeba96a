#include "module/management/admin/key_body.hpp"

#include <algorithm>
#include <utility>

#include "module/key/bearer.hpp"
#include "module/key/digest.hpp"
#include "module/key/meta.hpp"
#include "module/management/groups.hpp"
#include "module/management/operation_error.hpp"
#include "module/management/operations.hpp"
#include "module/redis/protocol/redis_time.hpp"
#include "module/redis/protocol/schema.hpp"
#include "module/text/duration.hpp"
#include "module/text/parse_error.hpp"
#include "module/text/rfc3339.hpp"

namespace tollgate::management {

namespace {

std::string taken_time(const std::string& name, const std::string& text,
                       std::optional<std::chrono::sys_seconds> now) {
    const auto time = parse_rfc3339(text);
    if (!time) {
        refuse(name + ": use a time such as 2027-01-01T00:00:00Z, or null");
    }
    if (now && *time <= *now) {
        refuse(name + ": the time is not in the future");
    }
    return redis::unix_time(*time);
}

std::string taken_state(const std::string& name, const std::string& state,
                        std::optional<std::chrono::sys_seconds> now) {
    // An export has this state of a key that is not disabled.
    if (!now && state == "expired") {
        return std::string(redis::key_state::kActive);
    }
    if (state != redis::key_state::kActive && state != redis::key_state::kDisabled) {
        refuse(name + ": use \"active\" or \"disabled\"");
    }
    return state;
}

std::string taken_words(const std::string& name, const JsonBody::Texts& words) {
    std::string all;
    for (const auto& word : words) {
        if (word.empty() || word.find(' ') != std::string::npos) {
            refuse(name + ": a value of the list is empty or has a space");
        }
        all.append(all.empty() ? "" : " ").append(word);
    }
    return all;
}

MetaChanges meta_of(const JsonBody::Object& object) {
    // All members are removed, and as many are set.
    constexpr auto kMostChanges = 2 * kMostMetaMembers;
    if (object.size() > kMostChanges) {
        refuse("meta: more than " + std::to_string(kMostChanges) + " members");
    }
    MetaChanges changes;
    for (const auto& [name, scalar] : object) {
        if (!is_valid_meta_name(name)) {
            refuse("meta: a name has " + std::string(kMetaNameRule));
        }
        auto& member = changes.members[name];
        if (const auto* const text = std::get_if<std::string>(&scalar)) {
            member = *text;
        } else if (const auto* const flag = std::get_if<bool>(&scalar)) {
            member = *flag;
        } else if (const auto* const whole = std::get_if<std::int64_t>(&scalar)) {
            member = *whole;
        } else if (const auto* const number = std::get_if<double>(&scalar)) {
            member = *number;
        }
    }
    return changes;
}

std::optional<MetaChanges> take_meta(JsonBody& body, const std::string& name) {
    if (body.take_null(name)) {
        return MetaChanges{.is_cleared = true};
    }
    auto members = body.take_object(name);
    return members ? std::optional(meta_of(*members)) : std::nullopt;
}

/// What Redis stores of a member; nullopt if there is none.
std::optional<std::string> take_value(JsonBody& body, const redis::RecordField& field,
                                      std::optional<std::chrono::sys_seconds> now) {
    using redis::FieldForm;
    const std::string name(field.name);
    if (!field.is_required && field.form != FieldForm::kState && body.take_null(name)) {
        return "";
    }
    if (field.form == FieldForm::kWords) {
        const auto words = body.take_texts(name);
        return words ? std::optional(new_value(field, taken_words(name, *words))) : std::nullopt;
    }
    if (field.form == FieldForm::kDay) {
        const auto day = body.take_number(name);
        return day ? std::optional(new_value(field, std::to_string(*day))) : std::nullopt;
    }
    const bool may_be_empty = field.form == FieldForm::kText && !field.is_required;
    const auto text = may_be_empty ? body.take_text_or_null(name) : body.take_text(name);
    if (!text) {
        return std::nullopt;
    }
    switch (field.form) {
        case FieldForm::kTime:
            return taken_time(name, *text, now);
        case FieldForm::kState:
            return taken_state(name, *text, now);
        default:
            return new_value(field, *text);
    }
}

bool is_digest(const std::string& text) {
    constexpr std::size_t kLength = 64;
    return text.size() == kLength &&
           text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

KeyChanges take_changes(JsonBody& body, std::optional<std::chrono::sys_seconds> now) {
    KeyChanges changes;
    for (const auto& field : redis::record_fields()) {
        if (!field.is_settable) {
            continue;
        }
        if (field.form == redis::FieldForm::kMeta) {
            changes.meta = take_meta(body, std::string(field.name));
        } else if (auto value = take_value(body, field, now)) {
            changes.values.emplace(field.name, std::move(*value));
        }
    }
    return changes;
}

void require_complete(const KeyChanges& changes) {
    for (const auto& field : redis::record_fields()) {
        if (field.is_settable && field.is_required && !changes.has(field.name)) {
            refuse(std::string(field.name).append(": a key needs a ").append(field.name));
        }
    }
}

std::optional<std::string> take_digest(JsonBody& body, const std::string& name) {
    auto digest = body.take_text(name);
    if (digest && !is_digest(*digest)) {
        refuse(name + ": use the SHA-256 of the key, 64 lower-case hexadecimal digits");
    }
    return digest;
}

NewKeyBody read_new_key(std::string_view body, std::chrono::sys_seconds now,
                        const HeldRights& rights) {
    JsonBody json(body);
    NewKeyBody key{
        .id = json.take_text("id"), .digest = take_digest(json, "digest"), .changes = {}};
    key.changes = take_changes(json, now);
    json.require_empty();
    require_complete(key.changes);
    if (key.id) {
        require_valid_id(*key.id);
    }
    rights.require_may_change(key.id.value_or(""), key.changes);
    return key;
}

std::string read_wanted_digest(std::string_view body) {
    JsonBody json(body);
    const auto token = json.take_text("token");
    auto digest = take_digest(json, "digest");
    json.require_empty();
    if (token.has_value() == digest.has_value()) {
        refuse("give one of token and digest");
    }
    if (token && !is_b64token(*token)) {
        refuse("token: a key has " + std::string(kTokenRule));
    }
    return token ? hex(sha256(*token)) : *digest;
}

KeyChanges read_changes(std::string_view body, std::chrono::sys_seconds now,
                        const HeldRights& rights, std::string_view id) {
    JsonBody json(body);
    auto changes = take_changes(json, now);
    json.require_empty();
    if (changes.empty()) {
        refuse("the body changes nothing");
    }
    rights.require_may_change(id, changes);
    return changes;
}

KeyChanges read_group_changes(std::string_view body) {
    JsonBody json(body);
    KeyChanges changes;
    for (const auto& field : redis::record_fields()) {
        if (!field.sets_quotas) {
            continue;
        }
        if (auto value = take_value(json, field, std::nullopt)) {
            changes.values.emplace(field.name, std::move(*value));
        }
    }
    json.require_empty();
    if (changes.empty()) {
        refuse("the body changes nothing");
    }
    return changes;
}

Credit take_credit(JsonBody& body) {
    return {.owner = {},
            .table = body.take_text("table").value_or(""),
            .units = body.take_number("units").value_or(0),
            .reference = body.take_text("reference").value_or("")};
}

Credit read_credit(std::string_view body) {
    JsonBody json(body);
    Credit credit = take_credit(json);
    credit.may_be_subject = json.take_flag("subject").value_or(false);
    json.require_empty();
    return credit;
}

RotationBody read_rotation(std::string_view body) {
    JsonBody json(body);
    auto digest = take_digest(json, "digest");
    const auto text = json.take_text("overlap").value_or(std::string(kDefaultOverlap));
    json.require_empty();
    // Require a unit: "24" must not end a key after 24 seconds.
    if (text != "0" && text.find_first_not_of("0123456789") == std::string::npos) {
        refuse("overlap: add a unit, as in \"24h\"");
    }
    try {
        return {.overlap = std::chrono::ceil<std::chrono::seconds>(parse_duration(text)),
                .digest = std::move(digest)};
    } catch (const ParseError& error) {
        refuse("overlap: " + std::string(error.what()));
    }
}

}  // namespace tollgate::management
