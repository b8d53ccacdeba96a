#pragma once

#include <chrono>
#include <cstddef>
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
};

/// An entry as Redis stores it.
struct StoredEntry {
    std::string place;  ///< in the stream: `MILLISECONDS-NUMBER`
    AuditEntry entry;

    /// When the entry was added.
    std::chrono::sys_seconds time() const;
};

struct AuditPage {
    std::vector<StoredEntry> entries;  ///< the oldest first
    std::string last;                  ///< the place up to which entries were read
    bool has_more = false;             ///< whether entries may follow
};

/// Reads entries after a place, up to `limit`. An empty place is the beginning. With `id`, only the
/// entries of this id: a page may then have fewer of them. Throws OperationError with
/// Reason::kInvalid if the place is not valid.
Task<AuditPage> read_audit(Database& database, const redis::Keys& keys, std::string after,
                           std::size_t limit, std::string id);

/// Writes the members of the JSON object of an entry.
void write_entry(JsonWriter& json, const StoredEntry& stored);

/// The command that adds an entry to the stream `audit`. It keeps about the last 100,000 entries.
redis::Command add_to_audit(const redis::Keys& keys, const AuditEntry& entry);

}  // namespace tollgate::management
