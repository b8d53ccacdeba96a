#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "module/management/database.hpp"
#include "module/redis/protocol/command.hpp"
#include "module/redis/protocol/schema.hpp"
#include "module/text/json_writer.hpp"

namespace tollgate::management {

/// The longest detail of an entry, in bytes. A longer one is cut, and ends with `…`.
inline constexpr std::size_t kLongestDetail = 512;

/// Who does what to which id.
struct AuditEntry {
    std::string actor;   ///< `USER@HOST` of a command, or `key:ID` of a request
    std::string action;  ///< such as `issue`
    std::string id;
    /// Such as `plan=pro name="A shop"`: see audit_text(). No keys in clear.
    std::string detail{};
    std::string request{};  ///< see request_name(); empty: a command, or none
    /// Values that the operation has replaced, as those of `detail`: see replaced_text().
    std::string before{};
    bool tells_before = false;  ///< whether the operation sets `before`
};

/// An entry as Redis stores it.
struct StoredEntry {
    std::string place;  ///< in the stream: `MILLISECONDS-NUMBER`
    AuditEntry entry;

    /// When the entry was added.
    std::chrono::sys_seconds time() const;
};

struct AuditPage {
    std::vector<StoredEntry> entries;
    std::string last;       ///< the place up to which entries were read
    bool has_more = false;  ///< whether entries may follow
};

/// Which entries to read.
struct AuditQuery {
    std::string after{};  ///< those that follow this place, in this order; empty: from the first
    std::size_t limit = 100;
    bool is_descending = false;  ///< the newest first
    std::optional<std::chrono::sys_seconds> from{};
    std::optional<std::chrono::sys_seconds> to{};  ///< including this second
    std::string id{};                              ///< only those of this id; empty: of all
    std::string actor{};                           ///< only those of this actor; empty: of all
};

/// Reads a page of entries. With `id` or `actor`, a page may have fewer of them, and more follow.
/// Throws OperationError with Reason::kInvalid if the place is not valid.
Task<AuditPage> read_audit(Database& database, const redis::Keys& keys, AuditQuery query);

/// Writes the members of the JSON object of an entry.
void write_entry(JsonWriter& json, const StoredEntry& stored);

/// The command that adds an entry to the stream `audit`. It keeps about the last 100,000 entries.
redis::Command add_to_audit(const redis::Keys& keys, const AuditEntry& entry);

}  // namespace tollgate::management
