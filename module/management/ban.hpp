#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "module/management/audit.hpp"
#include "module/management/database.hpp"
#include "module/management/id_list.hpp"

namespace tollgate::management {

/// The strikes and the ban of an id.
struct KeyBan {
    std::string id;
    std::int64_t strikes = 0;  ///< refusals since `since`
    std::int64_t level = 0;    ///< number of bans; each ban is twice as long as the previous one
    std::optional<std::chrono::sys_seconds> since{};  ///< time of the first strike
    std::optional<std::chrono::sys_seconds> until{};  ///< end of the current ban; empty: no ban
};

/// Reads the strikes and the ban of an id. Throws OperationError.
Task<KeyBan> read_ban(Database& database, const redis::Keys& keys, std::string id);

/// Some ids that are banned now.
struct BanPage {
    std::vector<KeyBan> bans;
    std::optional<Place> next{};  ///< where the next page begins; empty: no ids follow
};

/// Reads the bans that have not ended, of the ids after a place, in the order of their creation.
/// All ids are examined one after the other until the page has an entry: Redis has no list of bans.
/// Subjects are not in the list of ids. Throws OperationError.
Task<BanPage> read_bans(Database& database, const redis::Keys& keys, std::optional<Place> after,
                        std::size_t limit);

/// Writes the members of the JSON object of a ban.
void write_ban(JsonWriter& json, const KeyBan& ban);

/// Removes the strikes and the ban of an id, and notifies the gateways. Throws OperationError.
Task<void> lift_ban(Database& database, const redis::Keys& keys, AuditEntry entry);

}  // namespace tollgate::management
