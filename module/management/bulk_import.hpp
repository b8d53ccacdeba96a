#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "module/management/database.hpp"
#include "module/management/key_index.hpp"
#include "module/management/key_reader.hpp"
#include "module/management/key_transactions.hpp"

namespace tollgate::management {

/// What became of the records of an import.
struct ImportCounts {
    std::size_t imported = 0;
    std::size_t unchanged = 0;  ///< the id exists with the same keys and values
    std::size_t refused = 0;

    std::size_t records() const { return imported + unchanged + refused; }
};

/// Stores many ids and their keys. A record is stored if neither its id nor one of its keys exists;
/// an id that exists is never changed. A key that was revoked is refused, or is valid again. Each
/// record is safe to interrupt at every step, as `key import` is: a key works only after its id is
/// listed, and importing the record again completes it. The digests of the keys are announced: a
/// gateway may have looked up one of them before.
class BulkImport {
  public:
    struct Record {
        std::size_t line;  ///< in the file, from 1
        KeysOfId keys;
    };
    /// Receives the number of a line that is refused, and why.
    using Refuse = std::function<void(std::size_t line, const std::string& why)>;

    /// All arguments must outlive the object, which must outlive its tasks.
    BulkImport(Database& database, const redis::Keys& keys, const Refuse& refuse,
               KeyTransactions::Revoked revoked = KeyTransactions::Revoked::kRefused)
        : database_(database),
          keys_(keys),
          reader_(database, keys),
          index_(database, keys),
          refuse_(refuse),
          revoked_(revoked),
          is_atomic_(database.may_span(keys.ids(), keys.changes())) {}

    /// Stores a batch of records, at most kBatch of them. Throws OperationError.
    Task<void> store(std::vector<Record> records);
    static constexpr std::size_t kBatch = 500;

    /// Whether an id or a key of one of the records does not exist yet. Throws OperationError.
    Task<bool> has_anything_new(const std::vector<Record>& records);

    /// A line that is not a record.
    void refuse(std::size_t line, const std::string& why);

    const ImportCounts& counts() const { return counts_; }
    /// The first ids that were imported, at most kNamedIds of them.
    const std::vector<std::string>& first_imported() const { return first_imported_; }
    static constexpr std::size_t kNamedIds = 50;

  private:
    using Transactions = std::vector<Transaction>;

    void count_imported(const std::string& id);
    Task<std::vector<bool>> create(std::span<const Record> records);
    Task<std::vector<bool>> create_in_slots(std::span<const Record> records);
    Task<void> forget_revoked(std::span<const Record> records);
    Task<void> examine_all(std::vector<Record> records);
    Task<void> examine(Record record);
    Task<void> withdraw(const KeysOfId& keys, bool is_claimed);
    Transaction claim_of(const KeysOfId& keys, const std::vector<std::string>& claimed) const;
    Transaction creation_of(const StoredKey& key) const;
    Task<void> announce(std::vector<std::string> digests);
    Task<void> index_groups(std::span<const Record> records, const std::vector<bool>& claimed,
                            const redis::Value& indexed);
    static void add_to_ids(const KeysOfId& keys, redis::Command& command);

    Database& database_;
    const redis::Keys& keys_;
    KeyReader reader_;
    KeyIndex index_;
    const Refuse& refuse_;
    KeyTransactions::Revoked revoked_;
    bool is_atomic_;         ///< a transaction may change all keys of a record, and announces them
    bool is_begun_ = false;  ///< the index was begun if there was no id
    ImportCounts counts_;
    std::vector<std::string> first_imported_;
};

}  // namespace tollgate::management
