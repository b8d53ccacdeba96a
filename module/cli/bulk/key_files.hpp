#pragma once

#include <functional>
#include <string>
#include <vector>

#include "module/cli/terminal/output.hpp"
#include "module/key/key_record.hpp"
#include "module/management/database.hpp"

namespace tollgate::cli {

/// Imports the records in files of JSON lines; `-` is standard input. Prints each refused line to
/// standard error and the counts to standard output. A file that stores records adds two entries to
/// the audit: before the first record, and at its end. Throws Failure; with ExitStatus::kConflict
/// if a record is refused. Records that a failover may have undone are stored again. `done`
/// receives the durability of each file. `check` throws OperationError for a record to refuse.
void import_files(management::Database& database, const redis::Keys& keys, Format format,
                  const std::vector<std::string>& files,
                  const std::function<void(const KeyRecord&)>& check,
                  const std::function<void(management::Durability)>& done);

/// Prints all ids and their keys as JSON lines, the oldest id first. Throws Failure.
void export_keys(management::Database& database, const redis::Keys& keys);

}  // namespace tollgate::cli
