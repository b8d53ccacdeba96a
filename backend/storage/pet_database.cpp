#include "backend/storage/pet_database.hpp"

#include <chrono>
#include <cstddef>
#include <exception>
#include <utility>

#include "backend/storage/database_header.hpp"
#include "backend/storage/schema.hpp"

namespace petstore {
namespace {

#define PET_COLUMNS "SELECT id, name, category_id, status FROM pets "

struct Reset {
    void operator()(Statement* statement) const { statement->reset(); }
};
/// Ends a statement's run, which would otherwise keep the transaction from ending.
using Run = std::unique_ptr<Statement, Reset>;

void read_row(const Statement& row, Pet& pet) {
    pet.id = row.int64(0);
    pet.name = row.text(1);
    pet.category_id = row.int64(2);
    pet.status = parse_pet_status(row.text(3));  // NULL is empty, which no status is
}

/// About 4 MiB of pages, and what is left of the file of a log that has once been larger.
constexpr int kLogPages = 1000;
constexpr const char* kLimitLogFile = "PRAGMA journal_size_limit = 4194304";

constexpr std::chrono::milliseconds kCheckpointWait{250};

constexpr std::size_t kOrdersSize = 65536;

void begin_batch(Connection& connection, Statement& user_version) {
    const Run run(&user_version);
    user_version.step();
    const auto number = static_cast<std::uint32_t>(user_version.int64(0));
    const std::uint32_t next = UserVersion::unpack(number).next().pack();
    connection.execute(("PRAGMA user_version = " + std::to_string(next)).c_str());
}

/// A fresh log is begun on a file that no earlier copy equals: a backup of the file as it was
/// before the start is then told from it.
void set_apart(Connection& connection) {
    connection.execute("BEGIN IMMEDIATE");
    Statement user_version(connection, "PRAGMA user_version");
    begin_batch(connection, user_version);
    connection.execute("COMMIT");
    connection.checkpoint(true, kCheckpointWait);
}

Connection open_database(const std::string& path, PetDatabase::Access access) {
    refuse_log_without_file(path);
    Connection connection(path);
    const bool has_log = refuse_log_of_another_file(connection);
    constexpr const char* kOpenLog = "SELECT count(*) FROM sqlite_schema";
    connection.execute(kOpenLog);
    refuse_moved(connection);
    migrate(connection);
    connection.execute(kOpenLog);  // which there was none of, if the file was not in WAL mode
    connection.execute(kLimitLogFile);
    if (!has_log && access == PetDatabase::Access::write) {
        set_apart(connection);
    }
    return connection;
}

}  // namespace

PetDatabase::PetDatabase(const std::string& path, Access access)
    : connection_(open_database(path, access)),
      file_(connection_),
      next_checkpoint_(kLogPages),
      user_version_(connection_, "PRAGMA user_version"),
      begin_read_(connection_, "BEGIN"),
      begin_write_(connection_, "BEGIN IMMEDIATE"),
      commit_(connection_, "COMMIT"),
      roll_back_(connection_, "ROLLBACK"),
      add_(connection_, "INSERT INTO pets (name, category_id, status) VALUES (?1, ?2, ?3)"),
      find_(connection_, PET_COLUMNS "WHERE id = ?1"),
      list_(connection_, PET_COLUMNS "WHERE id > ?1 ORDER BY id LIMIT ?2"),
      list_status_(connection_, PET_COLUMNS "WHERE status = ?3 AND id > ?1 ORDER BY id LIMIT ?2"),
      orders_(connection_, "SELECT id, document FROM store_orders WHERE id >= ?1 ORDER BY id") {}

PetDatabase::~PetDatabase() {
    try {
        if (!replaced()) {
            connection_.checkpoint_on_close();
        }
    } catch (const std::exception&) {
        return;  // the log is left as it is
    }
}

PetDatabase::Transaction::Transaction(PetDatabase& database, Access access) {
    (access == Access::write ? database.begin_write_ : database.begin_read_).run();
    database_.reset(&database);
    if (access == Access::write) {
        begin_batch(database.connection_, database.user_version_);
    }
}

void PetDatabase::Transaction::commit() {
    database_->commit_.run();
}

void PetDatabase::Transaction::RollBack::operator()(PetDatabase* database) const {
    // SQLite itself rolls back after some errors; if this one fails, closing the connection will do
    // it.
    if (database->connection_.in_transaction()) {
        try {
            database->roll_back_.run();
        } catch (const StorageError&) {
            return;
        }
    }
}

std::int64_t PetDatabase::add(const NewPet& pet) {
    const Run run(&add_);
    add_.bind(1, pet.name);
    add_.bind(2, pet.category_id);
    if (pet.status) {
        add_.bind(3, to_string(*pet.status));
    } else {
        add_.bind_null(3);
    }
    add_.step();
    return connection_.last_insert_rowid();
}

std::optional<Pet> PetDatabase::find(std::int64_t id) {
    const Run run(&find_);
    find_.bind(1, id);
    if (!find_.step()) {
        return std::nullopt;
    }
    Pet pet;
    read_row(find_, pet);
    return pet;
}

void PetDatabase::list(const PetQuery& query, const std::function<void(const Pet&)>& each) {
    Statement& statement = query.status ? list_status_ : list_;
    const Run run(&statement);
    statement.bind(1, query.after);
    statement.bind(2, std::int64_t{query.limit} + 1);
    if (query.status) {
        statement.bind(3, to_string(*query.status));
    }
    Pet pet;
    while (statement.step()) {
        read_row(statement, pet);
        each(pet);
    }
}

std::optional<std::int64_t> PetDatabase::orders(std::int64_t from,
                                                const std::function<void(std::string_view)>& each) {
    const Run run(&orders_);
    orders_.bind(1, from);
    std::size_t size = 0;
    while (orders_.step()) {
        if (size >= kOrdersSize) {
            return orders_.int64(0);
        }
        const std::string_view document = orders_.text(1);
        each(document);
        size += document.size() + 1;
    }
    return std::nullopt;
}

void PetDatabase::bound_log() {
    const int pages = connection_.log_pages();
    if (pages < next_checkpoint_) {
        next_checkpoint_ = pages < kLogPages ? kLogPages : next_checkpoint_;
        return;
    }
    next_checkpoint_ =
        connection_.checkpoint(false, kCheckpointWait) ? kLogPages : pages + kLogPages;
}

}  // namespace petstore
