#pragma once

#include <string>
#include <utility>

#include "module/management/key_operation.hpp"
#include "t/unit/management/memory_database.hpp"

namespace tollgate::management {

/// Issues a key to the id of its record.
inline void issue(MemoryDatabase& database, StoredKey key) {
    const auto keys = MemoryDatabase::keys();
    const std::string id = key.record.id;
    const std::string digest = key.digest;
    KeyOperation operation(database, keys, {.actor = "a", .action = "issue", .id = id});
    run_to_end(operation.create(std::move(key)));
    run_to_end(operation.confirm(digest, id));
}

/// The same for a key of the plan `free`.
inline void issue(MemoryDatabase& database, std::string id, std::string digest) {
    StoredKey key{.digest = std::move(digest)};
    key.record.id = std::move(id);
    key.record.plan = "free";
    issue(database, std::move(key));
}

}  // namespace tollgate::management
