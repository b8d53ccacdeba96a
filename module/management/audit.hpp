#pragma once

#include <string>

#include "module/redis/protocol/command.hpp"
#include "module/redis/protocol/schema.hpp"

namespace tollgate::management {

/// Who does what to which id.
struct AuditEntry {
    std::string actor;   ///< `USER@HOST` of a command, or `key:ID` of a request
    std::string action;  ///< such as `issue`
    std::string id;
    std::string detail{};  ///< such as `plan=pro state=disabled`; no keys in clear
};

/// The command that adds an entry to the stream `audit`. It keeps about the last 100,000 entries.
redis::Command add_to_audit(const redis::Keys& keys, const AuditEntry& entry);

}  // namespace tollgate::management
