#include "module/redis/protocol/record_fields.hpp"

#include <array>

#include "module/key/meta.hpp"
#include "module/key/scopes.hpp"
#include "module/redis/protocol/redis_time.hpp"
#include "module/redis/protocol/schema.hpp"
#include "module/text/parse_error.hpp"

namespace tollgate::redis {

namespace {

std::string parse_id(std::string_view text) {
    if (!is_valid_key_id(text)) {
        throw ParseError("invalid id: use 1 to 64 letters, digits, _, - and .");
    }
    return std::string(text);
}

std::string parse_plan_name(std::string_view text) {
    if (!is_valid_name(text)) {
        throw ParseError("invalid name: use 1 to 64 letters, digits, _, - and .");
    }
    return std::string(text);
}

std::string parse_stored_name(std::string_view text) {
    if (!is_valid_key_name(text)) {
        throw ParseError("invalid name: use at most 256 bytes without control characters");
    }
    return std::string(text);
}

std::string parse_stored_meta(std::string_view text) {
    return text.empty() ? "" : write_meta(parse_meta(text));
}

constexpr std::array kFields{
    RecordField{.name = record_field::kId,
                .form = FieldForm::kText,
                .member = &KeyRecord::id,
                .parse_stored = parse_id},
    RecordField{.name = record_field::kPlan,
                .form = FieldForm::kText,
                .member = &KeyRecord::plan,
                .parse_stored = parse_plan_name},
    RecordField{.name = "name",
                .form = FieldForm::kText,
                .member = &KeyRecord::name,
                .parse_stored = parse_stored_name},
    RecordField{
        .name = record_field::kLimits, .form = FieldForm::kText, .member = &KeyRecord::limits},
    RecordField{.name = "expires", .form = FieldForm::kTime, .member = &KeyRecord::expires},
    RecordField{
        .name = record_field::kState, .form = FieldForm::kState, .member = &KeyRecord::active},
    RecordField{.name = "scopes",
                .form = FieldForm::kWords,
                .member = &KeyRecord::scopes,
                .parse_stored = parse_scopes},
    RecordField{.name = "meta",
                .form = FieldForm::kMeta,
                .member = &KeyRecord::meta,
                .parse_stored = parse_stored_meta},
};

bool read_member(const RecordField& field, std::string_view stored, std::string& text) {
    try {
        text = field.parse_stored == nullptr ? std::string(stored) : field.parse_stored(stored);
        return true;
    } catch (const ParseError&) {
        text = stored;
        return false;
    }
}

bool read_member(const RecordField& /*field*/, std::string_view stored,
                 std::optional<std::chrono::sys_seconds>& time) {
    time.reset();
    if (stored.empty()) {
        return true;
    }
    const auto parsed = parse_unix_time(stored);
    time = parsed.value_or(std::chrono::sys_seconds{});
    return parsed.has_value();
}

bool read_member(const RecordField& /*field*/, std::string_view stored, bool& active) {
    active = stored == key_state::kActive;
    return true;
}

std::string member_text(const std::string& text) {
    return text;
}

std::string member_text(const std::optional<std::chrono::sys_seconds>& time) {
    return time ? std::to_string(time->time_since_epoch().count()) : "";
}

std::string member_text(bool active) {
    return std::string(active ? key_state::kActive : key_state::kDisabled);
}

}  // namespace

std::span<const RecordField> record_fields() {
    return kFields;
}

bool read_field(const RecordField& field, std::string_view stored, KeyRecord& record) {
    return std::visit([&](auto member) { return read_member(field, stored, record.*member); },
                      field.member);
}

std::string stored_text(const RecordField& field, const KeyRecord& record) {
    return std::visit([&](auto member) { return member_text(record.*member); }, field.member);
}

}  // namespace tollgate::redis
