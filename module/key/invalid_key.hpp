#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "module/key/key_record.hpp"

namespace tollgate {

/// Why a key is not valid.
enum class KeyFault : std::uint8_t {
    kNone,       ///< the key is valid, was not checked, or there is none
    kUnknown,    ///< Redis has no valid record of it: it never had one, or the key was revoked
    kExpired,    ///< its time is over
    kDisabled,   ///< the operator has disabled it
    kMalformed,  ///< it is no token, or its checksum is wrong: it was not looked up
};

/// Every value of `$tollgate_reason`, in the order of the faults.
constexpr std::array<std::string_view, 5> kKeyFaultNames{"", "unknown", "expired", "disabled",
                                                         "malformed"};

/// The value of `$tollgate_reason`; empty for kNone.
constexpr std::string_view name_of(KeyFault fault) {
    return kKeyFaultNames[static_cast<std::size_t>(fault)];
}

/// A key that is not valid: for logs. No decision depends on its id.
struct InvalidKey {
    KeyFault fault = KeyFault::kNone;
    std::string id{};  ///< of the record, if Redis has one
};

/// What is wrong at this time with a key that has this record and is not valid.
inline InvalidKey invalid_key(const KeyRecord& record, std::chrono::sys_seconds now) {
    if (record.is_valid_at(now)) {
        return {};
    }
    return {record.active ? KeyFault::kExpired : KeyFault::kDisabled, record.id};
}

}  // namespace tollgate
