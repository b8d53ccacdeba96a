#include "backend/storage/schema.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

#include "backend/storage/file_format.hpp"

namespace petstore {
namespace {

/// The migration at index N brings the schema from version N to N + 1. A released migration never
/// changes: add another one.
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
    )sql",
};

/// The first column of the first row; 0 if there is no row.
std::int64_t value_of(const Connection& connection, const char* sql) {
    Statement statement(connection, sql);
    return statement.step() ? statement.int64(0) : 0;
}

void set_pragma(Connection& connection, const std::string& name, std::uint32_t value) {
    connection.execute(("PRAGMA " + name + " = " + std::to_string(value)).c_str());
}

/// Where a database comes from.
enum class Origin : std::uint8_t {
    kEmpty,         ///< a new file
    kFirstVersion,  ///< this module, before it set application_id
    kCurrent        ///< this module
};

struct State {
    Origin origin;
    UserVersion version;
};

[[noreturn]] void throw_unavailable(const Connection& connection, const std::string& what) {
    throw StorageError(kDatabaseUnavailable, StorageError::Recovery::kReopen,
                       '"' + connection.path() + "\": " + what);
}

/// Throws if the database is of another application or has a newer schema.
State state_of(const Connection& connection) {
    const std::int64_t application = value_of(connection, "PRAGMA application_id");
    const std::int64_t number = value_of(connection, "PRAGMA user_version");
    const auto version = UserVersion::unpack(static_cast<std::uint32_t>(number));
    if (application == kApplicationId) {
        if (version.schema > kMigrations.size()) {
            throw_unavailable(connection, "the database has schema version " +
                                              std::to_string(version.schema) +
                                              ", but this module supports versions up to " +
                                              std::to_string(kMigrations.size()) +
                                              "; upgrade the module or restore an older backup");
        }
        return {Origin::kCurrent, version};
    }
    constexpr std::int64_t kTables = 2;
    if (application == 0 && version.schema == 1 &&
        value_of(connection,
                 "SELECT count(*) FROM sqlite_schema "
                 "WHERE type = 'table' AND name IN ('pets', 'store_orders')") == kTables) {
        return {Origin::kFirstVersion, version};
    }
    if (application == 0 && number == 0 &&
        value_of(connection, "SELECT count(*) FROM sqlite_schema") == 0) {
        return {Origin::kEmpty, {}};
    }
    throw_unavailable(connection, "the file is a database of another application (application_id " +
                                      std::to_string(application) + ", user_version " +
                                      std::to_string(number) +
                                      "); name another file in \"petstore\"");
}

/// Sets random numbers in the header of a new file, to distinguish its WAL from the WAL of another
/// file.
void set_random_numbers(Connection& connection, UserVersion& version) {
    std::random_device random;
    constexpr std::uint32_t kMaxCookie = 0x3fffffff;
    set_pragma(connection, "schema_version", random() & kMaxCookie);
    version.transaction = random() % UserVersion::kTransactionNumbers;
}

void apply_migrations(Connection& connection) {
    connection.execute("BEGIN IMMEDIATE");
    State state = state_of(connection);  // again: another process may have migrated it
    for (std::size_t i = state.version.schema; i < kMigrations.size(); ++i) {
        connection.execute(kMigrations[i]);
    }
    if (state.origin == Origin::kEmpty) {
        set_random_numbers(connection, state.version);
    }
    state.version.schema = kMigrations.size();
    set_pragma(connection, "application_id", kApplicationId);
    set_pragma(connection, "user_version", state.version.next().pack());
    connection.execute("COMMIT");
}

}  // namespace

void migrate(Connection& connection) {
    // One transaction, because another process may be migrating the database.
    connection.execute("BEGIN");
    const State state = state_of(connection);
    connection.execute("COMMIT");
    connection.execute("PRAGMA synchronous = FULL");
    if (state.origin != Origin::kCurrent || state.version.schema < kMigrations.size()) {
        // An empty file gets its random numbers before it gets its first WAL.
        apply_migrations(connection);
    }
    connection.set_wal_mode();
}

}  // namespace petstore
