#include "backend/storage/pet_database.hpp"

#include <utility>

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

}  // namespace

PetDatabase::PetDatabase(const std::string& path)
    : connection_(open_migrated(path)),
      begin_read_(connection_, "BEGIN"),
      begin_write_(connection_, "BEGIN IMMEDIATE"),
      commit_(connection_, "COMMIT"),
      roll_back_(connection_, "ROLLBACK"),
      add_(connection_, "INSERT INTO pets (name, category_id, status) VALUES (?1, ?2, ?3)"),
      find_(connection_, PET_COLUMNS "WHERE id = ?1"),
      list_(connection_, PET_COLUMNS "WHERE id > ?1 ORDER BY id LIMIT ?2"),
      list_status_(connection_, PET_COLUMNS "WHERE status = ?3 AND id > ?1 ORDER BY id LIMIT ?2"),
      orders_(connection_, "SELECT document FROM store_orders ORDER BY id") {}

PetDatabase::Transaction::Transaction(PetDatabase& database, Access access) {
    (access == Access::write ? database.begin_write_ : database.begin_read_).run();
    database_.reset(&database);
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

std::vector<std::string> PetDatabase::orders() {
    const Run run(&orders_);
    std::vector<std::string> documents;
    while (orders_.step()) {
        documents.emplace_back(orders_.text(0));
    }
    return documents;
}

}  // namespace petstore
