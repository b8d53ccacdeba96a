#include "backend/storage/schema.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace petstore {
namespace {

/// Each brings the schema from the version that is its index to the next one. What has been
/// released is never changed; a change is one more.
constexpr std::array kMigrations{
    R"sql(
        CREATE TABLE pets (
            id          INTEGER PRIMARY KEY AUTOINCREMENT,
            name        TEXT NOT NULL,
            category_id INTEGER NOT NULL,
            status      TEXT CHECK (status IN ('available', 'pending', 'sold'))
        ) STRICT;
        CREATE INDEX pets_by_status ON pets (status);
        CREATE TABLE store_orders (
            id       INTEGER PRIMARY KEY AUTOINCREMENT,
            document TEXT NOT NULL CHECK (json_valid(document))
        ) STRICT;
        PRAGMA user_version = 1;
    )sql",
};

std::size_t schema_version(const Connection& connection) {
    Statement statement(connection, "PRAGMA user_version");
    statement.step();
    return static_cast<std::size_t>(statement.int64(0));
}

}  // namespace

Connection open_migrated(const std::string& path) {
    Connection connection(path);
    const std::size_t version = schema_version(connection);
    if (version > kMigrations.size()) {
        throw StorageError(kDatabaseUnavailable, true,
                           "\"" + path + "\": its schema has version " + std::to_string(version) +
                               ", this module knows no later one than " +
                               std::to_string(kMigrations.size()));
    }
    connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    if (version < kMigrations.size()) {
        connection.execute("BEGIN IMMEDIATE");
        // Another process may have been faster.
        for (std::size_t i = schema_version(connection); i < kMigrations.size(); ++i) {
            connection.execute(kMigrations[i]);
        }
        connection.execute("COMMIT");
    }
    return connection;
}

}  // namespace petstore
