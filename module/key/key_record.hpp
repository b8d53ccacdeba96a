#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "module/key/address_blocks.hpp"
#include "module/key/api_key.hpp"
#include "module/key/meta.hpp"
#include "module/key/scopes.hpp"

namespace tollgate {

/// Why a key is not valid.
enum class KeyFault : std::uint8_t {
    kNone,       ///< the key is valid, was not checked, or there is none
    kUnknown,    ///< Redis has no valid record of it
    kExpired,    ///< its time is over
    kDisabled,   ///< the operator has disabled it
    kRevoked,    ///< the operator has revoked it, or a rotation without overlap has replaced it
    kMalformed,  ///< it is no token, or its checksum is wrong: it was not looked up
};

/// The record of a key in Redis (the hash `key:SHA256HEX`), as far as decisions need it.
struct KeyRecord {
    std::string id;      ///< see is_valid_key_id
    std::string name;    ///< the operator's name for the key; free text without control characters,
                         ///< may be empty
    std::string plan;    ///< see is_valid_name
    std::string limits;  ///< as parse_limits reads them, for plans that are `custom`
    std::string scopes{};  ///< in the canonical form of parse_scopes
    std::string meta{};    ///< in the canonical form of write_meta
    std::optional<std::chrono::sys_seconds> expires;
    bool active = true;
    /// A rotation has replaced the key: Redis removes it at the end of the overlap.
    bool retiring = false;
    /// The addresses from which the key may be used, in the canonical form of
    /// parse_address_blocks; empty: any.
    std::string from{};
    /// The prefix of the keys that a rotation issues: see is_valid_key_prefix; empty: kKeyPrefix.
    std::string prefix{};
    /// The group of the id: see is_valid_key_id; empty: none. The counters of the id belong to it.
    std::string group{};
    /// On which day its months begin, as format_billing_day writes it; empty: those of the
    /// calendar.
    std::string billing_day{};
    /// Why Redis does not have the record any more: kUnknown or kRevoked. A gateway remembers the
    /// id of such a key, and the record is not `active`. kNone: Redis has the record.
    KeyFault ended = KeyFault::kNone;
    bool operator==(const KeyRecord&) const = default;

    /// Whether the key is valid at this time: active and not expired.
    bool is_valid_at(std::chrono::sys_seconds now) const {
        return active && (!expires || now < *expires);
    }
};

/// The members that no quota depends on. A gateway keeps them apart from the others: see
/// KeyCache. None contains a zero byte.
inline constexpr std::array kDetails{&KeyRecord::name, &KeyRecord::scopes, &KeyRecord::meta,
                                     &KeyRecord::from, &KeyRecord::prefix};

/// The longest id, and the longest name of a plan or a plan table, in bytes.
inline constexpr std::size_t kLongestId = 64;

/// The longest KeyRecord::billing_day, in bytes: `31 30 2026-05-31`.
inline constexpr std::size_t kLongestBillingDay = 16;

/// The longest name of a key, in bytes.
inline constexpr std::size_t kLongestKeyName = 256;

/// The longest details of a record together, in bytes.
inline constexpr std::size_t kLongestDetails =
    kLongestKeyName + kLongestScopes + kLongestMeta + kLongestAddressBlocks + kLongestKeyPrefix;

/// Whether the text is an id: 1 to 64 letters, digits, `_`, `-` and `.`. Ids are part of Redis
/// keys, inside a `{…}` hash tag, and of log lines.
bool is_valid_key_id(std::string_view id);

/// What to do about an invalid id, and about an invalid name of a plan: for messages.
inline constexpr std::string_view kIdRule = "use 1 to 64 letters, digits, _, - and .";

/// Whether an id is `.` or `..`. A path of a URL with such a segment has another meaning (RFC
/// 3986 section 6.2.2.3): tollgate_admin could not name the id.
bool is_dot_segment(std::string_view id);

/// Whether the text is a name of a plan or a plan table: 1 to 64 of the characters of an id. Names
/// are part of Redis keys and header fields.
bool is_valid_name(std::string_view name);

/// Whether the text is a name of a key: no control characters (C0, DEL), at most 256 bytes.
bool is_valid_key_name(std::string_view name);

}  // namespace tollgate
