#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "module/management/database.hpp"
#include "module/management/group_index.hpp"
#include "module/management/usage_history.hpp"
#include "module/management/window_usage.hpp"

namespace tollgate::management {

/// Reads the histories of many ids with few calls: one for an id with up to 200 days in its
/// history, and pages for a longer one. Quotas of tables without a history are read only where the
/// history has days of such a table.
class HistoryReader {
  public:
    /// All must outlive the object, which must outlive its tasks.
    HistoryReader(Database& database, const redis::Keys& keys, const CountingTables& tables);

    /// The histories of the ids, in their order: see read_history(). Throws OperationError.
    Task<std::vector<UsageHistory>> read(std::vector<std::string> ids);

    /// A table, and whether it keeps a history as far as is known.
    struct CountedTable {
        std::string name;
        bool has_history;
    };
    /// The days of tables that are still in the quotas.
    using OpenDays = std::vector<std::optional<std::int64_t>>;
    /// What has been read of the history of an id.
    struct Reading {
        OwnerName id;
        std::size_t index = 0;                       ///< of the id
        OpenDays before{};                           ///< the days in the quotas before the pages
        std::map<std::string, std::string> moved{};  ///< days in the history
        std::string cursor = "0";
    };

  private:
    Task<std::vector<Reading>> read_few(std::vector<Reading> readings,
                                        const std::vector<CountedTable>& tables,
                                        std::vector<Reading>& many,
                                        std::vector<UsageHistory>& histories);
    Task<void> read_many(std::vector<Reading> readings, std::vector<UsageHistory>& histories);
    bool has_other_tables(const Reading& reading) const;

    Database& database_;
    const redis::Keys& keys_;
    std::vector<CountedTable> tables_;
    std::vector<CountedTable> with_history_;  ///< the ones of `tables_` that keep a history
};

/// Reads the history of an id. It has no days if no table keeps a history of the id, and if the id
/// does not exist; that of a revoked id remains. Tables that are not in `tables` may lack their
/// last day. The tables must outlive the task. Throws OperationError.
Task<UsageHistory> read_history(Database& database, const redis::Keys& keys, std::string id,
                                CountingTables tables);

}  // namespace tollgate::management
