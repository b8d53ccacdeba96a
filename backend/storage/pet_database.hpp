#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "backend/core/pet.hpp"
#include "backend/storage/database_file.hpp"
#include "backend/storage/sqlite.hpp"

namespace petstore {

/// The pets and orders in an SQLite file with a write-ahead log (WAL). Every commit is synced to
/// the disk. Ids are never used twice. Any number of connections in any number of processes may
/// have the file open. One thread at a time may use an object. All members throw StorageError.
class PetDatabase {
  public:
    enum class Access : std::uint8_t { kRead, kWrite };

    /// Opens the file or creates it, and migrates its schema. Throws StorageError also for a newer
    /// schema, a database of another application, and a WAL that belongs to another file.
    PetDatabase(const std::string& path, Access access);
    /// Closes the file, and moves the WAL into it if no other connection has it open.
    ~PetDatabase();
    PetDatabase(const PetDatabase&) = delete;
    PetDatabase& operator=(const PetDatabase&) = delete;

    /// A transaction. The destructor rolls back what is not committed. With Access::kWrite, it
    /// locks out other writers from its beginning, and takes the next transaction number.
    class Transaction {
      public:
        Transaction(PetDatabase& database, Access access);
        /// Returns after the sync to the disk.
        void commit();

      private:
        struct RollBack {
            void operator()(PetDatabase* database) const;
        };
        std::unique_ptr<PetDatabase, RollBack> database_;
    };

    /// Stores a pet and returns its id.
    std::int64_t insert(const NewPet& pet);

    /// Calls `found` with the pet that has this id, or returns false if there is none. The pet is
    /// valid during the call.
    bool find(std::int64_t id, const std::function<void(const Pet&)>& found);

    /// Calls `each` with the pets of a query, in ascending order of ids, until it returns false. If
    /// there are more than the limit, it also gets the first of the next page. A pet is valid
    /// during its call.
    void list(const PetQuery& query, const std::function<bool(const Pet&)>& each);

    /// Calls `each` with the JSON documents of the orders, in ascending order of ids, beginning
    /// with `from`. Stops after about 64 KiB, and returns the next id; nothing after the last
    /// order. A text is valid during its call.
    std::optional<std::int64_t> list_orders(std::int64_t from,
                                            const std::function<void(std::string_view)>& each);

    /// Whether other files are at the paths of the database or of its WAL: see DatabaseFile.
    bool is_replaced() { return file_.is_replaced(connection_); }

    /// A quick check: true is a sufficient condition for !is_replaced(). See DatabaseFile.
    bool is_unchanged() const { return file_.is_unchanged(connection_); }

    /// Makes a checkpoint if the WAL has grown by 4 MiB. SQLite's automatic checkpoint never
    /// reaches the end of the WAL while readers overlap. This one makes writers wait up to 250 ms
    /// for readers. If they block it for longer, the next try is after another 4 MiB.
    void limit_wal_size();

  private:
    Connection connection_;
    DatabaseFile file_;
    int next_checkpoint_;  ///< at this number of pages in the WAL
    Statement user_version_;
    Statement begin_read_;
    Statement begin_write_;
    Statement commit_;
    Statement roll_back_;
    Statement insert_;
    Statement find_;
    Statement list_;
    Statement list_status_;
    Statement list_orders_;
};

}  // namespace petstore
