#include "backend/storage/schema.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>

#include "backend/storage/database_header.hpp"

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
    )sql",
};

std::int64_t value_of(const Connection& connection, const char* sql) {
    Statement statement(connection, sql);
    return statement.step() ? statement.int64(0) : 0;
}

void set_pragma(Connection& connection, const std::string& name, std::uint32_t value) {
    connection.execute(("PRAGMA " + name + " = " + std::to_string(value)).c_str());
}

/// How much is to be done to a database.
enum class Origin { empty, first_version, current };

struct State {
    Origin origin;
    UserVersion version;
};

[[noreturn]] void refuse(const Connection& connection, const std::string& what) {
    throw StorageError(kDatabaseUnavailable, true, '"' + connection.path() + "\": " + what);
}

/// Throws for a database that isn't this module's.
State state_of(const Connection& connection) {
    const std::int64_t application = value_of(connection, "PRAGMA application_id");
    const std::int64_t number = value_of(connection, "PRAGMA user_version");
    const auto version = UserVersion::unpack(static_cast<std::uint32_t>(number));
    if (application == kApplicationId) {
        if (version.schema > kMigrations.size()) {
            refuse(connection, "its schema has version " + std::to_string(version.schema) +
                                   ", this module knows no later one than " +
                                   std::to_string(kMigrations.size()));
        }
        return {Origin::current, version};
    }
    constexpr std::int64_t kTables = 2;
    if (application == 0 && version.schema == 1 &&
        value_of(connection,
                 "SELECT count(*) FROM sqlite_schema "
                 "WHERE type = 'table' AND name IN ('pets', 'store_orders')") == kTables) {
        return {Origin::first_version, version};
    }
    if (application == 0 && number == 0 &&
        value_of(connection, "SELECT count(*) FROM sqlite_schema") == 0) {
        return {Origin::empty, {}};
    }
    refuse(connection, "this is a database of another application (application_id " +
                           std::to_string(application) + ", user_version " +
                           std::to_string(number) + "); give petstore a file of its own");
}

/// Numbers that no other file has: they tell the log of this file from that of another one.
void set_random_numbers(Connection& connection, UserVersion& version) {
    std::random_device random;
    constexpr std::uint32_t kMaxCookie = 0x3fffffff;
    set_pragma(connection, "schema_version", random() & kMaxCookie);
    version.batch = random() % UserVersion::kBatches;
}

void bring_up_to_date(Connection& connection) {
    connection.execute("BEGIN IMMEDIATE");
    State state = state_of(connection);  // another process may have been faster
    for (std::size_t i = state.version.schema; i < kMigrations.size(); ++i) {
        connection.execute(kMigrations[i]);
    }
    if (state.origin == Origin::empty) {
        set_random_numbers(connection, state.version);
    }
    state.version.schema = kMigrations.size();
    set_pragma(connection, "application_id", kApplicationId);
    set_pragma(connection, "user_version", state.version.next().pack());
    connection.execute("COMMIT");
}

}  // namespace

void migrate(Connection& connection) {
    const State state = state_of(connection);
    connection.execute("PRAGMA synchronous = FULL");
    if (state.origin != Origin::current || state.version.schema < kMigrations.size()) {
        // Before WAL mode for an empty file: the first log is begun on a file with its numbers.
        bring_up_to_date(connection);
    }
    connection.execute("PRAGMA journal_mode = WAL");
}

}  // namespace petstore
