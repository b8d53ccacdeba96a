#include "backend/storage/pet_database.hpp"

#include <chrono>
#include <cstddef>
#include <exception>
#include <utility>

#include "backend/storage/file_format.hpp"
#include "backend/storage/schema.hpp"

namespace petstore {
namespace {

#define PET_COLUMNS "SELECT id, name, category_id, status FROM pets "

struct Reset {
    void operator()(Statement* statement) const { statement->reset(); }
};
/// Resets a statement at the end of a scope. A statement that is not reset keeps its transaction
/// open.
using Run = std::unique_ptr<Statement, Reset>;

/// The pet is valid until the statement goes to the next row.
Pet read_row(const Statement& row) {
    return {.id = row.int64(0),
            .name = row.text(1),
            .category_id = row.int64(2),
            .status = parse_pet_status(row.text(3))};  // NULL reads as empty, which is no status
}

// The size of the WAL at which a checkpoint is due, in pages of 4096 bytes. The limit in bytes is
// the size to which SQLite truncates a larger WAL file after a checkpoint.
constexpr int kCheckpointPages = 1000;
constexpr const char* kLimitWalFile = "PRAGMA journal_size_limit = 4194304";

constexpr std::chrono::milliseconds kCheckpointWait{250};

constexpr std::size_t kOrdersSize = 65536;  // bytes of one part of the orders

/// Writes the next transaction number to the database.
void increment_transaction_number(Connection& connection, Statement& user_version) {
    const Run run(&user_version);
    user_version.step();
    const auto number = static_cast<std::uint32_t>(user_version.int64(0));
    const std::uint32_t next = UserVersion::unpack(number).next().pack();
    connection.execute(("PRAGMA user_version = " + std::to_string(next)).c_str());
}

/// Writes a transaction to the database file, so that it differs from every earlier copy of the
/// file. A WAL that begins afterwards then belongs to none of these copies.
void write_new_first_page(Connection& connection) {
    connection.execute("BEGIN IMMEDIATE");
    Statement user_version(connection, "PRAGMA user_version");
    increment_transaction_number(connection, user_version);
    connection.execute("COMMIT");
    connection.checkpoint(Connection::Checkpoint::kTruncate, kCheckpointWait);
}

Connection open_database(const std::string& path, PetDatabase::Access access) {
    check_wal_has_database(path);
    Connection connection(path);
    const bool wal_has_commits = check_wal_belongs(connection);
    constexpr const char* kOpenWal = "SELECT count(*) FROM sqlite_schema";
    connection.execute(kOpenWal);
    check_not_moved(connection);
    migrate(connection);
    connection.execute(kOpenWal);  // again: there was no WAL if migrate() has set WAL mode
    connection.execute(kLimitWalFile);
    if (!wal_has_commits && access == PetDatabase::Access::kWrite) {
        write_new_first_page(connection);
    }
    return connection;
}

}  // namespace

PetDatabase::PetDatabase(const std::string& path, Access access)
    : connection_(open_database(path, access)),
      file_(connection_),
      next_checkpoint_(kCheckpointPages),
      user_version_(connection_, "PRAGMA user_version"),
      begin_read_(connection_, "BEGIN"),
      begin_write_(connection_, "BEGIN IMMEDIATE"),
      commit_(connection_, "COMMIT"),
      roll_back_(connection_, "ROLLBACK"),
      insert_(connection_, "INSERT INTO pets (name, category_id, status) VALUES (?1, ?2, ?3)"),
      find_(connection_, PET_COLUMNS "WHERE id = ?1"),
      list_(connection_, PET_COLUMNS "WHERE id > ?1 ORDER BY id LIMIT ?2"),
      list_status_(connection_, PET_COLUMNS "WHERE status = ?3 AND id > ?1 ORDER BY id LIMIT ?2"),
      list_orders_(connection_,
                   "SELECT id, document FROM store_orders WHERE id >= ?1 ORDER BY id") {}

PetDatabase::~PetDatabase() {
    try {
        if (!is_replaced()) {
            connection_.checkpoint_on_close();
        }
    } catch (const std::exception&) {
        return;  // leave the WAL as it is
    }
}

PetDatabase::Transaction::Transaction(PetDatabase& database, Access access) {
    (access == Access::kWrite ? database.begin_write_ : database.begin_read_).run();
    database_.reset(&database);
    if (access == Access::kWrite) {
        increment_transaction_number(database.connection_, database.user_version_);
    }
}

void PetDatabase::Transaction::commit() {
    database_->commit_.run();
}

void PetDatabase::Transaction::RollBack::operator()(PetDatabase* database) const {
    // After some errors SQLite has rolled back by itself. If ROLLBACK fails, closing the connection
    // rolls back.
    if (database->connection_.is_in_transaction()) {
        try {
            database->roll_back_.run();
        } catch (const StorageError&) {
            return;
        }
    }
}

std::int64_t PetDatabase::insert(const NewPet& pet) {
    const Run run(&insert_);
    insert_.bind(1, pet.name);
    insert_.bind(2, pet.category_id);
    if (pet.status) {
        insert_.bind(3, to_string(*pet.status));
    } else {
        insert_.bind_null(3);
    }
    insert_.step();
    return connection_.last_insert_rowid();
}

bool PetDatabase::find(std::int64_t id, const std::function<void(const Pet&)>& found) {
    const Run run(&find_);
    find_.bind(1, id);
    if (!find_.step()) {
        return false;
    }
    found(read_row(find_));
    return true;
}

void PetDatabase::list(const PetQuery& query, const std::function<bool(const Pet&)>& each) {
    Statement& statement = query.status ? list_status_ : list_;
    const Run run(&statement);
    statement.bind(1, query.after);
    statement.bind(2, std::int64_t{query.limit} + 1);
    if (query.status) {
        statement.bind(3, to_string(*query.status));
    }
    while (statement.step() && each(read_row(statement))) {
    }
}

std::optional<std::int64_t> PetDatabase::list_orders(
    std::int64_t from, const std::function<void(std::string_view)>& each) {
    const Run run(&list_orders_);
    list_orders_.bind(1, from);
    std::size_t size = 0;
    while (list_orders_.step()) {
        if (size >= kOrdersSize) {
            return list_orders_.int64(0);
        }
        const std::string_view document = list_orders_.text(1);
        each(document);
        size += document.size() + 1;
    }
    return std::nullopt;
}

void PetDatabase::limit_wal_size() {
    const int pages = connection_.wal_pages();
    if (pages < next_checkpoint_) {
        next_checkpoint_ = pages < kCheckpointPages ? kCheckpointPages : next_checkpoint_;
        return;
    }
    const bool is_done = connection_.checkpoint(Connection::Checkpoint::kRestart, kCheckpointWait);
    next_checkpoint_ = is_done ? kCheckpointPages : pages + kCheckpointPages;
}

}  // namespace petstore
