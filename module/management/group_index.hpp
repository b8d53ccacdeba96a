#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "module/management/database.hpp"
#include "module/management/stored_key.hpp"
#include "module/redis/protocol/schema.hpp"

namespace tollgate::management {

/// An id and its group, which may be empty.
struct OwnerName {
    std::string id;
    std::string group{};

    /// A view of this.
    redis::Owner owner() const { return {id, group}; }
};

/// The groups of ids as the index has them (redis::Keys::group_of_ids), in the order of the ids.
/// The index also has ids that were revoked: their history remains. Throws OperationError.
Task<std::vector<OwnerName>> owners_of(Database& database, const redis::Keys& keys,
                                       std::vector<std::string> ids);
/// The group of one id as the index has it, also if the id was revoked. Throws OperationError.
Task<OwnerName> owner_of(Database& database, const redis::Keys& keys, std::string id);

/// The command that stores the group of an id in the index, or removes the id if it has none. The
/// index may be in another slot than the record: an operation writes it before the record.
redis::Command indexing(const redis::Keys& keys, std::string id, std::string group);

/// The ids that the index has in other groups than their records, with the groups of the records.
/// Ids without keys are left out. `ids` must outlive the task. Throws OperationError.
Task<std::vector<OwnerName>> in_other_groups(Database& database, const redis::Keys& keys,
                                             const std::vector<KeysOfId>& ids);

/// Stores the groups of all ids in the index. Returns how many ids it had in other groups. Other
/// operations may run at the same time. Throws OperationError.
Task<std::size_t> correct_group_index(Database& database, const redis::Keys& keys);

/// The id of a key in Redis whose name has this text from its hash tag on: `acme}k1:api` is one of
/// `k1`, and `k1}:api` as well. Empty if it is none of an id.
OwnerName owner_in(std::string_view text);

}  // namespace tollgate::management
