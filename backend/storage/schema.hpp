#pragma once

#include <string>

#include "backend/storage/sqlite.hpp"

namespace petstore {

/// A connection to a database whose schema is the one that this version works with. An older one is
/// migrated; a newer one (`PRAGMA user_version`) is left as it is. Throws StorageError.
Connection open_migrated(const std::string& path);

}  // namespace petstore
