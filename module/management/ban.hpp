#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "module/management/audit.hpp"
#include "module/management/counted_ids.hpp"
#include "module/management/database.hpp"

namespace tollgate::management {

/// The strikes and the ban of an id.
struct KeyBan {
    std::string id;
    std::int64_t strikes = 0;  ///< refusals since `since`
    std::int64_t level = 0;    ///< number of bans; each ban is twice as long as the previous one
    std::optional<std::chrono::sys_seconds> since{};  ///< time of the first strike
    std::optional<std::chrono::sys_seconds> until{};  ///< end of the current ban; empty: no ban
};

/// A ban from the reply to HGETALL of its hash, or from nil. One that has ended at `now` has no
/// end.
KeyBan ban_of(std::string id, const redis::Value& hash, Instant now);

/// Reads the strikes and the ban of an id. Throws OperationError.
Task<KeyBan> read_ban(Database& database, const redis::Keys& keys, std::string id);

/// Some ids that are banned now, or have strikes.
struct BanPage {
    std::vector<KeyBan> bans;
    std::optional<std::string> next{};  ///< `after` of the next page; empty: no ids follow
};

/// Whether ids that are not banned and have strikes are in a list of bans.
enum class Struck : bool { kOmitted, kIncluded };

/// Reads the bans that have not ended, in the order of CountedIds. All ids are examined one after
/// the other until the page has an entry: Redis has no list of bans. `after` is BanPage::next of
/// the page before. Throws OperationError.
Task<BanPage> read_bans(Database& database, const redis::Keys& keys,
                        std::optional<std::string> after, std::size_t limit,
                        CountedIds::Subjects subjects = CountedIds::Subjects::kOmittedInCluster,
                        Struck struck = Struck::kOmitted);

/// Writes the members of the JSON object of a ban.
void write_ban(JsonWriter& json, const KeyBan& ban);

/// Removes the strikes and the ban of an id, and notifies the gateways. Throws OperationError.
Task<void> lift_ban(Database& database, const redis::Keys& keys, AuditEntry entry);

}  // namespace tollgate::management
