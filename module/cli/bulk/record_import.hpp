#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "module/management/bulk_import.hpp"
#include "module/management/durability.hpp"

namespace tollgate::cli {

/// Imports the records of one file in batches. The audit has an entry before the first record is
/// stored, and one at the end. Records that a failover may have undone are stored again. All
/// functions throw Failure.
class RecordImport {
  public:
    using Record = management::BulkImport::Record;
    using Revoked = management::KeyTransactions::Revoked;

    /// All but `file` must outlive the object.
    RecordImport(management::Database& database, const redis::Keys& keys, std::string file,
                 Revoked revoked);

    /// Adds a record. It is stored with others, or by finish().
    void add(Record record);
    /// Prints why a line is no record that can be stored, and counts it.
    void refuse(std::size_t line, const std::string& why) { import_.refuse(line, why); }
    /// Stores the last records.
    void finish();

    /// A record counts as what it was when it was stored first, unless it is refused later.
    management::ImportCounts counts() const;
    management::Durability durability() const { return durability_; }

  private:
    using Records = std::vector<Record>;

    void store_durably();
    management::Task<void> store(bool again);
    management::Task<void> store_again();
    std::string named_ids() const;
    management::Task<void> add_to_audit(std::string detail);

    management::Database& database_;
    const redis::Keys& keys_;
    std::string file_;
    management::BulkImport::Refuse refuse_;
    Revoked revoked_;
    management::BulkImport import_;
    Records batch_;
    Records unconfirmed_;            ///< stored since a replica confirmed
    std::set<std::size_t> refused_;  ///< lines
    std::size_t refused_again_ = 0;
    management::Durability durability_ = management::Durability::kConfirmed;
    bool is_audited_ = false;
    bool is_begin_confirmed_ = false;  ///< the first entry of the audit
    bool is_last_ = false;
};

}  // namespace tollgate::cli
