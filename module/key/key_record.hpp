#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tollgate {

/// What Redis knows of a key (the hash `key:SHA256HEX`), as far as admission needs it.
struct KeyRecord {
    std::string id;      ///< see is_valid_key_id
    std::string name;    ///< the operator's own word for it; free text without control characters,
                         ///< may be empty
    std::string plan;    ///< see is_valid_name
    std::string limits;  ///< rates as parse_rates reads them, for plans that are `custom`
    std::optional<std::chrono::sys_seconds> expires;
    bool active = true;
    bool operator==(const KeyRecord&) const = default;

    /// Whether the key is good at this time: active and not expired.
    bool is_valid_at(std::chrono::sys_seconds now) const {
        return active && (!expires || now < *expires);
    }
};

/// Ids stand in Redis keys, inside a `{…}` hash tag, and in logs: 1 to 64 of letters, digits, `_`,
/// `-` and `.`.
bool is_valid_key_id(std::string_view id);

/// Plans and plan tables stand in Redis keys and header fields: 1 to 64 of the characters that ids
/// have.
bool is_valid_name(std::string_view name);

/// Free text with no control characters (C0, DEL), at most 256 bytes.
bool is_valid_key_name(std::string_view name);

}  // namespace tollgate
