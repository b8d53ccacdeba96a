#pragma once

#include <sys/stat.h>

#include <string>

#include "backend/storage/sqlite.hpp"

namespace petstore {

/// Protects against a database file that takes the place of another one, such as a backup that is
/// copied over it. SQLite finds the write-ahead log (WAL) of a database by its name alone: it would
/// replay the WAL of the previous file into the new one.
///
/// A WAL belongs to a database file in two cases: a checkpoint has copied the file's first page
/// from the WAL, or the WAL was begun on the file with that first page. Each transaction of this
/// module writes the first page with the next transaction number (UserVersion). So the first page
/// in the WAL shows which page it follows.

/// Throws StorageError if there is a WAL for `path`, but no database file. Call it before SQLite
/// opens the file, because opening creates it.
void check_wal_has_database(const std::string& path);

/// Throws StorageError if the WAL belongs to another database file. Call it before the first
/// statement of the connection, which would replay the WAL. Returns whether the WAL has commits.
bool check_wal_belongs(const Connection& connection);

/// Throws StorageError if the file that is open is no longer the one at its path. Call it after the
/// first statement and before the first write, because the WAL may belong to the file at the path.
void check_not_moved(const Connection& connection);

/// Identifies the database file and the WAL that a connection has open, to detect when other files
/// are at their paths.
class DatabaseFile {
  public:
    /// The connection must have run a statement, which opens the WAL. Throws StorageError if the
    /// file is no longer at its path.
    explicit DatabaseFile(const Connection& connection);

    /// Whether the files at both paths have the inodes, and the database file the size and the time
    /// of its last change, that is_replaced() has seen. Reads only metadata, no file. True is a
    /// sufficient condition for !is_replaced().
    bool is_unchanged(const Connection& connection) const;

    /// Whether another program has removed, replaced or overwritten the file or the WAL since the
    /// constructor. If so, the connection must not be used any more, not even for a checkpoint.
    /// Throws StorageError if the file can't be read.
    bool is_replaced(const Connection& connection);

  private:
    struct stat file_ {};
    struct stat wal_ {};
};

}  // namespace petstore
