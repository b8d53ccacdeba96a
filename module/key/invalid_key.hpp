#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "module/key/key_record.hpp"

namespace tollgate {

/// Every value of `$tollgate_reason`, in the order of the faults.
constexpr std::array<std::string_view, 6> kKeyFaultNames{"",         "unknown", "expired",
                                                         "disabled", "revoked", "malformed"};

/// The value of `$tollgate_reason`; empty for kNone.
constexpr std::string_view name_of(KeyFault fault) {
    return kKeyFaultNames[static_cast<std::size_t>(fault)];
}

/// A key that is not valid: for logs. No decision depends on its id.
struct InvalidKey {
    KeyFault fault = KeyFault::kNone;
    std::string id{};  ///< of the record, if Redis or this node has one
};

/// What is wrong at this time with a key that has this record and is not valid.
inline InvalidKey invalid_key(const KeyRecord& record, std::chrono::sys_seconds now) {
    if (record.is_valid_at(now)) {
        return {};
    }
    if (record.ended != KeyFault::kNone) {
        return {record.ended, record.id};
    }
    return {record.active ? KeyFault::kExpired : KeyFault::kDisabled, record.id};
}

}  // namespace tollgate
