#pragma once

#include "backend/storage/sqlite.hpp"

namespace petstore {

/// `PRAGMA application_id` of a pet database: "Pets" in ASCII.
inline constexpr int kApplicationId = 0x50657473;

/// Brings the database to the schema of this module, in WAL mode. An empty file becomes a pet
/// database. A file of the first version, which has no application_id, gets one. Throws
/// StorageError for a newer schema and for a database of another application, and writes nothing to
/// them.
void migrate(Connection& connection);

}  // namespace petstore
