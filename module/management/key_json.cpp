#include "module/management/key_json.hpp"

#include <limits>
#include <variant>

#include "module/key/meta.hpp"
#include "module/text/parse_error.hpp"
#include "module/text/rfc3339.hpp"
#include "module/text/whole_number.hpp"
#include "module/text/words.hpp"

namespace tollgate::management {

namespace {

void write_words(JsonWriter& json, std::string_view words) {
    for (auto word = next_word(words); !word.empty(); word = next_word(words)) {
        json.value(word);
    }
}

/// Writes the meta as an object. If another program has stored a text that is no meta, that text.
void write_meta_value(JsonWriter& json, const std::string& stored) {
    Meta meta;
    try {
        meta = stored.empty() ? Meta{} : parse_meta(stored);
    } catch (const ParseError&) {
        json.value(stored);
        return;
    }
    json.object([&] {
        for (const auto& [name, value] : meta) {
            json.name(name);
            std::visit([&](const auto& member) { json.value(member); }, value);
        }
    });
}

}  // namespace

void write_time_or_null(JsonWriter& json, std::string_view name,
                        const std::optional<std::chrono::sys_seconds>& time) {
    json.member_or_null(name, time ? format_time(*time) : "");
}

void write_field(JsonWriter& json, const redis::RecordField& field, const std::string& shown) {
    switch (field.form) {
        case redis::FieldForm::kText:
        case redis::FieldForm::kTime:
        case redis::FieldForm::kState:
            json.member_or_null(field.name, shown);
            break;
        case redis::FieldForm::kDay:
            json.member(field.name, parse_whole_number(shown, 1, std::numeric_limits<int>::max()));
            break;
        case redis::FieldForm::kWords:
            json.array(field.name, [&] { write_words(json, shown); });
            break;
        case redis::FieldForm::kMeta:
            json.name(field.name);
            write_meta_value(json, shown);
            break;
    }
}

void write_quota_fields(JsonWriter& json, const KeyRecord& record) {
    for (const auto& field : redis::record_fields()) {
        if (field.sets_quotas) {
            write_field(json, field, redis::shown_text(field, record));
        }
    }
}

void write_key(JsonWriter& json, const KeysOfId& keys, std::chrono::sys_seconds now) {
    const StoredKey* current = keys.keys.empty() ? nullptr : &keys.keys.front();
    KeyRecord record = current == nullptr ? KeyRecord{} : current->record;
    record.id = keys.id;
    for (const auto& field : redis::record_fields()) {
        const bool is_state = field.form == redis::FieldForm::kState;
        write_field(json, field,
                    is_state ? std::string(state_of(keys, now)) : redis::shown_text(field, record));
    }
    write_time_or_null(json, "created",
                       current == nullptr ? std::nullopt : std::optional(current->issue_time()));
    json.array("digests", [&] {
        for (const auto& key : keys.keys) {
            json.object([&] {
                json.member("sha256", key.digest);
                json.member_or_null("hint", key.hint);
                write_time_or_null(json, "created", key.created);
                write_time_or_null(json, "expires", key.record.expires);
                json.member("retiring", key.record.retiring);
                write_time_or_null(json, "used", key.used);
            });
        }
    });
}

}  // namespace tollgate::management
