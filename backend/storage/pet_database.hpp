#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/core/pet.hpp"
#include "backend/core/pet_query.hpp"
#include "backend/storage/database_file.hpp"
#include "backend/storage/sqlite.hpp"

namespace petstore {

/// The pets in an SQLite file: write-ahead log, every commit synced to the disk, ids never used
/// twice. Any number of connections, of any number of processes, may have the file open. One thread
/// at a time uses an object. Every member throws StorageError.
class PetDatabase {
  public:
    enum class Access { read, write };

    /// Opens the file, creates it if need be, and brings its schema up to date. A newer schema, a
    /// database of another application and a file beside the log of another one are refused.
    PetDatabase(const std::string& path, Access access);
    ~PetDatabase();
    PetDatabase(const PetDatabase&) = delete;
    PetDatabase& operator=(const PetDatabase&) = delete;

    /// All that is done during its life is one transaction: undone, if nobody commits. A writing
    /// one excludes all other writers from the start, and takes the next batch number.
    class Transaction {
      public:
        Transaction(PetDatabase& database, Access access);
        /// Returns when the disk has it.
        void commit();

      private:
        struct RollBack {
            void operator()(PetDatabase* database) const;
        };
        std::unique_ptr<PetDatabase, RollBack> database_;
    };

    /// Stores a pet and returns its id.
    std::int64_t add(const NewPet& pet);

    std::optional<Pet> find(std::int64_t id);

    /// Shows `each` of the pets in ascending order of ids: one more than the limit, where there is
    /// one more.
    void list(const PetQuery& query, const std::function<void(const Pet&)>& each);

    /// Shows `each` of the next JSON documents of the orders, in the order of their ids, beginning
    /// with `from`: some 64 KiB of them. Returns the next id, or nothing if there are no more.
    std::optional<std::int64_t> orders(std::int64_t from,
                                       const std::function<void(std::string_view)>& each);

    /// Whether the file or its log is no longer what is at its path: see DatabaseFile.
    bool replaced() { return file_->replaced(connection_); }

    /// Moves the log into the file when it has grown by 4 MiB. SQLite's own checkpoints never get
    /// to its end while readers overlap, so this one makes writers wait for the readers that are in
    /// its way, 250 ms at most; the next try is after 4 MiB more.
    void bound_log();

  private:
    Connection connection_;
    std::optional<DatabaseFile> file_;
    int next_checkpoint_;  ///< pages in the log
    Statement user_version_;
    Statement begin_read_;
    Statement begin_write_;
    Statement commit_;
    Statement roll_back_;
    Statement add_;
    Statement find_;
    Statement list_;
    Statement list_status_;
    Statement orders_;
};

}  // namespace petstore
