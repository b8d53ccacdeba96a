#pragma once

#include <string>

#include "backend/storage/sqlite.hpp"

namespace petstore {

/// `PRAGMA application_id` of a pet database: "Pets" in ASCII.
inline constexpr int kApplicationId = 0x50657473;

/// Brings the schema of the database to the version that this module works with, in WAL mode. An
/// empty file becomes a pet database, and one of the first version, which has no application_id,
/// gets it. A newer schema and a database of another application are left as they are: throws
/// StorageError.
void migrate(Connection& connection);

}  // namespace petstore
