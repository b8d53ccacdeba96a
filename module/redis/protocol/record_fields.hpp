#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "module/key/key_record.hpp"

namespace tollgate::redis {

/// What a field of a key's record holds.
enum class FieldForm : std::uint8_t {
    kText,
    kTime,   ///< a Unix time
    kState,  ///< see key_state
    kWords,  ///< a list, separated by spaces
    kDay,    ///< see format_billing_day()
    kMeta    ///< see write_meta()
};

/// A field of the hash `key:SHA256HEX` that is a member of KeyRecord. All that reads or writes
/// records is derived from these descriptions.
struct RecordField {
    using Member =
        std::variant<std::string KeyRecord::*, std::optional<std::chrono::sys_seconds> KeyRecord::*,
                     bool KeyRecord::*>;
    /// Returns the canonical form of a text. Throws ParseError if the text is not valid.
    using Parse = std::string (*)(std::string_view text);

    std::string_view name;
    FieldForm form;
    Member member;
    /// For what another program may have stored; nullptr: any text is accepted.
    Parse parse_stored = nullptr;
    /// For a value that an operation sets; nullptr: the form says all.
    Parse parse_new = nullptr;
    bool is_settable = true;   ///< by operations on keys
    bool is_required = false;  ///< whether each key has it
    bool limits_key = false;   ///< a key cannot change it of its own id
    /// Whether the quotas of an id depend on it. A group has only these fields, and a revoked key
    /// keeps them for its last invoice.
    bool sets_quotas = false;

    // These members are for the OpenAPI document, as JSON.
    std::string_view shown_schema{};  ///< the JSON Schema of what is shown
    std::string_view new_schema{};    ///< the JSON Schema of a value that is set
    std::string_view example{};       ///< an example of what is shown

    // These members describe the option of the `tollgate` command.
    std::string_view option{};       ///< `--NAME`; empty: there is none
    std::string_view option_text{};  ///< for the help
    std::string_view none{};         ///< the value of the option that removes the field

    /// Whether the option may be repeated.
    bool is_list() const { return form == FieldForm::kWords || form == FieldForm::kMeta; }
};

/// All fields, the id first.
std::span<const RecordField> record_fields();

/// Reads a field from what Redis stores; an empty text is the same as a missing field. Returns
/// false if it is not valid: gateways refuse the record. A text is then as it is stored, and a time
/// is 1970, so that a damaged record does not look like a key that never expires.
bool read_field(const RecordField& field, std::string_view stored, KeyRecord& record);

/// What Redis stores of a field; an empty text is not stored.
std::string stored_text(const RecordField& field, const KeyRecord& record);

/// Writes a field as people read it: a time as RFC 3339, a billing day without the day before it,
/// any other field as stored_text() does. Empty if there is no time, or if months are those of the
/// calendar.
std::string shown_text(const RecordField& field, const KeyRecord& record);

}  // namespace tollgate::redis
