#include "module/redis/protocol/record_fields.hpp"

#include <array>

#include "module/key/address_blocks.hpp"
#include "module/key/api_key.hpp"
#include "module/key/key_record.hpp"
#include "module/key/meta.hpp"
#include "module/key/scopes.hpp"
#include "module/plan/billing_day.hpp"
#include "module/plan/limits.hpp"
#include "module/redis/protocol/redis_time.hpp"
#include "module/redis/protocol/schema.hpp"
#include "module/text/parse_error.hpp"
#include "module/text/rfc3339.hpp"
#include "module/text/utf8.hpp"

namespace tollgate::redis {

namespace {

std::string parse_id(std::string_view text) {
    if (!is_valid_key_id(text)) {
        throw ParseError("invalid id: " + std::string(kIdRule));
    }
    return std::string(text);
}

std::string parse_plan_name(std::string_view text) {
    if (!is_valid_name(text)) {
        throw ParseError("invalid name: " + std::string(kIdRule));
    }
    return std::string(text);
}

std::string parse_group(std::string_view text) {
    if (!text.empty() && !is_valid_key_id(text)) {
        throw ParseError("invalid group: " + std::string(kIdRule));
    }
    return std::string(text);
}

constexpr std::string_view kNoGroup = "none";  // of the option

std::string parse_new_group(std::string_view text) {
    auto group = parse_group(text);
    if (is_dot_segment(group)) {
        throw ParseError("invalid group: a URL cannot contain it");
    }
    if (group == kNoGroup) {
        throw ParseError("invalid group: \"none\" means no group");
    }
    return group;
}

std::string parse_stored_name(std::string_view text) {
    if (!is_valid_key_name(text)) {
        throw ParseError("invalid name: use at most 256 bytes without control characters");
    }
    return std::string(text);
}

std::string parse_new_name(std::string_view text) {
    if (!is_valid_key_name(text) || !is_utf8_line(text)) {
        throw ParseError("invalid name: use at most 256 bytes of UTF-8 without control characters");
    }
    return std::string(text);
}

std::string parse_prefix(std::string_view text) {
    if (text.empty() || text == kKeyPrefix) {
        return "";
    }
    if (!is_valid_key_prefix(text)) {
        throw ParseError(
            "invalid prefix: use 1 to 32 lower-case letters, digits and _, a letter first and no _ "
            "last, and not tg_");
    }
    return std::string(text);
}

/// Ascending, in the largest possible units.
std::string parse_new_limits(std::string_view text) {
    try {
        return format_limits(parse_limits(text));
    } catch (const ParseError& error) {
        throw ParseError(std::string(error.what()) +
                         ": use one to four rates such as \"60r/m 1000r/d\", \"100r/15m\" "
                         "or \"10r/s burst=20\", or \"unlimited in_flight=5\"");
    }
}

std::string parse_new_billing_day(std::string_view text) {
    return format_billing_day(parse_billing_day(text));
}

std::string parse_billing_day_of_record(std::string_view text) {
    return format_billing_day(parse_stored_billing_day(text));
}

std::string parse_stored_meta(std::string_view text) {
    return text.empty() ? "" : write_meta(parse_meta(text));
}

// clang-format off
constexpr std::array kFields{
    RecordField{.name = record_field::kId, .form = FieldForm::kText, .member = &KeyRecord::id,
        .parse_stored = parse_id, .is_settable = false, .is_required = true},
    RecordField{.name = record_field::kPlan, .form = FieldForm::kText, .member = &KeyRecord::plan,
        .parse_stored = parse_plan_name, .parse_new = parse_plan_name, .is_required = true, .limits_key = true, .sets_quotas = true,
        .shown_schema = R"({"type": ["string", "null"], "description": "The plan; null: there is none."})",
        .new_schema = R"({"type": "string", "pattern": "^[A-Za-z0-9_.-]{1,64}$", "description": "The name of a plan in the plan tables."})",
        .example = R"("pro")",
        .option = "--plan", .option_text = "Plan of the key, as named in the plan tables of the gateway"},
    RecordField{.name = "name", .form = FieldForm::kText, .member = &KeyRecord::name,
        .parse_stored = parse_stored_name, .parse_new = parse_new_name,
        .shown_schema = R"({"type": ["string", "null"], "description": "The operator's name for the key."})",
        .new_schema = R"({"type": ["string", "null"], "maxLength": 256, "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]*$",
            "description": "A name for people, at most 256 bytes of UTF-8. null: no name."})",
        .example = R"("ACME Ltd")",
        .option = "--name", .option_text = "Name of the key, for your own use"},
    RecordField{.name = record_field::kLimits, .form = FieldForm::kText, .member = &KeyRecord::limits,
        .parse_new = parse_new_limits, .limits_key = true, .sets_quotas = true,
        .shown_schema = R"({"type": ["string", "null"], "description": "Limits for plans that are `custom`."})",
        .new_schema = R"({"$ref": "#/components/schemas/NewLimits"})",
        .example = "null",
        .option = "--limits", .option_text = "Limits for `custom` plans, such as \"5000r/m 1000000r/d\", or none",
        .none = "none"},
    RecordField{.name = record_field::kBillingDay, .form = FieldForm::kDay, .member = &KeyRecord::billing_day,
        .parse_stored = parse_billing_day_of_record, .parse_new = parse_new_billing_day, .limits_key = true, .sets_quotas = true,
        .shown_schema = R"({"type": ["integer", "null"], "description": "The day of the month on which the windows of a month begin, in UTC; null: the first."})",
        .new_schema = R"json({"type": ["integer", "null"], "minimum": 1, "maximum": 31,
            "description": "The day of the month on which the windows of a month begin, in UTC; in a shorter month, its last day. If it is changed, the running month ends when a month would end by either day. null or 1: the first."})json",
        .example = "null",
        .option = "--billing-day", .option_text = "Day on which months begin, 1 to 31, or none for the first", .none = "none"},
    RecordField{.name = "expires", .form = FieldForm::kTime, .member = &KeyRecord::expires, .limits_key = true,
        .shown_schema = R"({"$ref": "#/components/schemas/TimeOrNull", "description": "When the key expires; null: never."})",
        .new_schema = R"json({"type": ["string", "null"], "format": "date-time",
            "description": "When the key expires: a time in the future (RFC 3339). null: never."})json",
        .example = "null",
        .option = "--expires", .option_text = "Time when the key expires, or never", .none = "never"},
    RecordField{.name = record_field::kState, .form = FieldForm::kState, .member = &KeyRecord::active,
        .shown_schema = R"({"$ref": "#/components/schemas/State"})",
        .new_schema = R"({"type": "string", "enum": ["active", "disabled"],
            "description": "A new key is `active` unless it is given. A disabled key is refused until it is active again."})",
        .example = R"("active")"},
    RecordField{.name = record_field::kScopes, .form = FieldForm::kWords, .member = &KeyRecord::scopes,
        .parse_stored = parse_scopes, .parse_new = parse_scopes, .limits_key = true,
        .shown_schema = R"({"type": "array", "items": {"type": "string"}, "description": "The scopes of the key."})",
        .new_schema = R"json({"type": ["array", "null"], "items": {"type": "string", "pattern": "^[!#-\\[\\]-~]+$"}, "maxItems": 128,
            "description": "Scope tokens (RFC 6749, section 3.3), together at most 256 bytes."})json",
        .example = R"(["pets:read"])",
        .option = "--scope", .option_text = "Scopes of the key, such as \"pets:read pets:write\", or none",
        .none = "none"},
    RecordField{.name = "meta", .form = FieldForm::kMeta, .member = &KeyRecord::meta,
        .parse_stored = parse_stored_meta,
        .shown_schema = R"({"type": ["object", "string"],
            "description": "What programs store with the key. A text, if another program has stored a text that is no such object."})",
        .new_schema = R"json({"type": ["object", "null"], "propertyNames": {"pattern": "^[a-z0-9_]{1,32}$"},
            "additionalProperties": {"type": ["string", "number", "boolean", "null"], "pattern": "^[^\\u0000-\\u001f\\u007f]*$"}, "maxProperties": 32,
            "description": "Up to 16 members, together at most 512 bytes of JSON, which programs store with the key. A name has 1 to 32 lower-case letters, digits and `_`; a value is a text, a number or a boolean. Members that are not given remain, and null removes a member (RFC 7396)."})json",
        .example = R"({"contract": 4711})",
        .option = "--meta", .option_text = "NAME=VALUE to store with the key, NAME= to remove it, or none",
        .none = "none"},
    RecordField{.name = "from", .form = FieldForm::kWords, .member = &KeyRecord::from,
        .parse_stored = parse_address_blocks, .parse_new = parse_address_blocks, .limits_key = true,
        .shown_schema = R"json({"type": "array", "items": {"type": "string"},
            "description": "The addresses from which the key may be used (CIDR); empty: any."})json",
        .new_schema = R"json({"type": ["array", "null"], "items": {"type": "string", "pattern": "^[0-9A-Fa-f.:]+(/[0-9]{1,3})?$"},
            "maxItems": 64, "description": "Up to 16 CIDR blocks, IPv4 and IPv6: `192.0.2.0/24`, `2001:db8::/32`, `192.0.2.1`. Requests from other addresses get 403. null or an empty array: any address."})json",
        .example = R"(["192.0.2.0/24"])",
        .option = "--from", .option_text = "Addresses from which the key may be used, such as \"192.0.2.0/24 2001:db8::/32\", or none",
        .none = "none"},
    RecordField{.name = "prefix", .form = FieldForm::kText, .member = &KeyRecord::prefix,
        .parse_stored = parse_prefix, .parse_new = parse_prefix,
        .shown_schema = R"({"type": ["string", "null"], "description": "The prefix of keys that are issued for the id; null: `tg`."})",
        .new_schema = R"json({"type": ["string", "null"], "pattern": "^([a-z]([a-z0-9_]{0,30}[a-z0-9])?)?$",
            "description": "The prefix of keys that are issued for the id, such as `acme_live`: the key begins with it and `_`. null or an empty text: `tg`. It does not change keys that exist."})json",
        .example = "null",
        .option = "--key-prefix", .option_text = "Prefix of keys that are issued, such as acme_live, or none for tg", .none = "none"},
    RecordField{.name = record_field::kGroup, .form = FieldForm::kText, .member = &KeyRecord::group,
        .parse_stored = parse_group, .parse_new = parse_new_group, .limits_key = true,
        .shown_schema = R"({"type": ["string", "null"], "description": "The group of the id."})",
        .new_schema = R"json({"type": ["string", "null"], "pattern": "^[A-Za-z0-9_.-]{0,64}$",
            "description": "The group of the id, such as a company whose keys share a quota; not `none`, `.` or `..`. An id that changes its group begins with new counters, a new history and no ban. null or an empty text: no group."})json",
        .example = "null",
        .option = "--group", .option_text = "Group of the id, or none; another group begins with new counters", .none = kNoGroup},
};
// clang-format on

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
    return time ? unix_time(*time) : "";
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

std::string shown_text(const RecordField& field, const KeyRecord& record) {
    if (field.form == FieldForm::kDay) {
        const auto text = stored_text(field, record);
        const auto day = text.substr(0, text.find(' '));
        return day == "1" ? "" : day;
    }
    using Time = std::optional<std::chrono::sys_seconds> KeyRecord::*;
    const auto* const time = std::get_if<Time>(&field.member);
    if (time == nullptr) {
        return stored_text(field, record);
    }
    return record.**time ? format_time(*(record.**time)) : "";
}

}  // namespace tollgate::redis
