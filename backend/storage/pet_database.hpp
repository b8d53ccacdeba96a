#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/core/pet.hpp"
#include "backend/core/pet_query.hpp"
#include "backend/core/pinned.hpp"
#include "backend/storage/sqlite.hpp"

namespace petstore {

/// The pets in an SQLite file: write-ahead log, every commit synced to the disk, ids never used
/// twice. Any number of connections, of any number of processes, may have the file open. One thread
/// at a time uses an object. Every member throws StorageError.
class PetDatabase : Pinned {
  public:
    /// Opens the file, creates it if need be, and brings its schema up to date. A newer schema is
    /// refused.
    explicit PetDatabase(const std::string& path);

    enum class Access { read, write };

    /// All that is done during its life is one transaction: undone, if nobody commits. A writing
    /// one excludes all other writers from the start.
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

    /// The JSON documents of the orders, in the order of their ids.
    std::vector<std::string> orders();

    /// Whether the file that is open is no longer the one at its path.
    bool moved() const { return connection_.moved(); }

  private:
    Connection connection_;
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
