#include "module/management/key_changes.hpp"

#include <algorithm>
#include <utility>

#include "module/key/api_key.hpp"
#include "module/management/operation_error.hpp"
#include "module/plan/billing_day.hpp"
#include "module/redis/protocol/schema.hpp"
#include "module/text/json_writer.hpp"
#include "module/text/parse_error.hpp"

namespace tollgate::management {

namespace {

/// The meta after its changes.
std::string changed_meta(const MetaChanges& changes, const std::string& stored) {
    try {
        Meta meta = changes.is_cleared || stored.empty() ? Meta{} : parse_meta(stored);
        for (const auto& [name, value] : changes.members) {
            if (value) {
                meta.insert_or_assign(name, *value);
            } else {
                meta.erase(name);
            }
        }
        return write_meta(meta);
    } catch (const ParseError& error) {
        refuse("meta: " + std::string(error.what()));
    }
}

/// A value that contains a space or a quotation mark, or that reads as the absence of a value, is a
/// JSON string: it cannot be taken for another member.
std::string detail_value(std::string_view value) {
    const bool is_plain = value != "none" && std::ranges::all_of(value, [](char c) {
                              return c > ' ' && c <= '~' && c != '"' && c != '\\';
                          });
    if (is_plain) {
        return std::string(value);
    }
    JsonWriter json;
    json.value(value);
    return std::move(json).take();
}

/// Adds `name=value` to a detail.
void add_value(std::string& text, std::string_view name, std::string_view value) {
    text.append(text.empty() ? "" : " ").append(name).append("=");
    text.append(value.empty() ? "none" : detail_value(value));
}

}  // namespace

std::string new_value(const redis::RecordField& field, std::string_view text) {
    try {
        return field.parse_new == nullptr ? std::string(text) : field.parse_new(text);
    } catch (const ParseError& error) {
        refuse(std::string(field.name) + ": " + error.what());
    }
}

void apply(const KeyChanges& changes, KeyRecord& record) {
    for (const auto& field : redis::record_fields()) {
        if (const auto value = changes.values.find(field.name); value != changes.values.end()) {
            redis::read_field(field, value->second, record);
        }
    }
    if (changes.meta) {
        record.meta = changed_meta(*changes.meta, record.meta);
    }
}

Task<std::chrono::sys_days> day_of_change(Database& database, const KeyChanges& changes) {
    if (!changes.values.contains(redis::record_field::kBillingDay)) {
        co_return std::chrono::sys_days{};
    }
    redis::Command clock{"TIME"};
    const auto time = co_await run(database, std::move(clock));
    co_return std::chrono::floor<std::chrono::days>(time_of_reply(time));
}

void apply_at(const KeyChanges& changes, KeyRecord& record, std::chrono::sys_days today) {
    const auto before = record.billing_day;
    apply(changes, record);
    if (!changes.values.contains(redis::record_field::kBillingDay)) {
        return;
    }
    try {
        record.billing_day = changed_billing_day(before, record.billing_day, today);
    } catch (const ParseError& error) {
        refuse(std::string(redis::record_field::kBillingDay) + ": " + error.what());
    }
}

std::string audit_text(const KeyChanges& changes) {
    std::string text;
    const auto add = [&](std::string_view name, std::string_view value) {
        add_value(text, name, value);
    };
    KeyRecord record;
    for (const auto& field : redis::record_fields()) {
        if (const auto value = changes.values.find(field.name); value != changes.values.end()) {
            redis::read_field(field, value->second, record);
            add(field.name, redis::shown_text(field, record));
        }
        if (field.form == redis::FieldForm::kMeta && changes.meta) {
            if (changes.meta->is_cleared) {
                add(field.name, "");
            }
            std::string names;
            for (const auto& [name, value] : changes.meta->members) {
                names.append(names.empty() ? "" : ",").append(name);
            }
            if (!names.empty()) {
                add(field.name, names);
            }
        }
    }
    return text;
}

std::string replaced_text(const KeyRecord& before, const KeyRecord& after) {
    std::string text;
    for (const auto& field : redis::record_fields()) {
        if (field.form == redis::FieldForm::kMeta) {
            continue;
        }
        const auto value = redis::shown_text(field, before);
        if (value != redis::shown_text(field, after)) {
            add_value(text, field.name, value);
        }
    }
    return text;
}

void require_valid_group(const std::string& group) {
    const auto fields = redis::record_fields();
    const auto* const field =
        &*std::ranges::find(fields, redis::record_field::kGroup, &redis::RecordField::name);
    if (new_value(*field, group).empty()) {
        refuse("group: the name is empty");
    }
}

std::string_view invalid_group_name(std::string_view group) {
    return is_valid_key_id(group) ? std::string_view() : kIdRule;
}

void require_valid_id(const std::string& id) {
    if (has_checked_prefix(id) && has_valid_checksum(id)) {
        refuse("the id is invalid because it is a key: use the id of the key");
    }
    if (!is_valid_key_id(id)) {
        refuse("invalid id: " + std::string(kIdRule));
    }
    if (is_dot_segment(id)) {
        refuse("invalid id: a URL cannot contain it");
    }
}

}  // namespace tollgate::management
