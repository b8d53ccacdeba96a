#pragma once

#include <sys/stat.h>

#include <string>

#include "backend/storage/sqlite.hpp"

namespace petstore {

/// Guards against a database file that takes the place of another one, such as a restored backup.
/// SQLite ties a write-ahead log to its file by the name alone: it would replay the log of the old
/// file over the new one.
///
/// The log belongs to the file if the first page of the file is one that the log has written there
/// (by a checkpoint), or the one that the log was begun on. Each transaction of this module writes
/// the first page, with the next batch number in it (UserVersion), so that the log tells which page
/// precedes it.

/// Throws StorageError if a log is left beside `path`, but no file. Call it before the file is
/// opened, which would create it.
void refuse_log_without_file(const std::string& path);

/// Throws StorageError if the log beside the file belongs to another file. Call it before the first
/// statement of the connection, which would replay it. Returns whether the log holds transactions.
bool refuse_log_of_another_file(const Connection& connection);

/// Throws StorageError if the file that is open is not the one at its path. Call it after the first
/// statement, before anything is written: the log may be the one of the file at the path.
void refuse_moved(const Connection& connection);

/// The file and the log that a connection has open, compared with what is at their paths.
class DatabaseFile {
  public:
    /// The connection has run a statement, so that it has the log open, too.
    explicit DatabaseFile(const Connection& connection);

    /// Whether the file or its log has been removed, replaced or overwritten by another program
    /// since then. What the connection has open must then neither be used nor be checkpointed.
    bool replaced(const Connection& connection);

  private:
    struct stat file_ {};
    struct stat log_ {};
};

}  // namespace petstore
