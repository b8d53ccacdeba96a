#pragma once

#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/error.hpp"

namespace petstore {

/// SQLite or a check of the database file has failed. what() is for nginx's error log: the path of
/// the database, and what happened.
class StorageError : public std::runtime_error {
  public:
    /// How the next request may succeed.
    enum class Recovery : std::uint8_t {
        kRetry,  ///< on the same connection
        kReopen  ///< on a new connection: the file may be replaced or repaired meanwhile
    };

    StorageError(ErrorKind kind, Recovery recovery, const std::string& text)
        : std::runtime_error(text), kind_(kind), recovery_(recovery) {}

    /// The kind of the error response to the client.
    ErrorKind kind() const { return kind_; }
    Recovery recovery() const { return recovery_; }

  private:
    ErrorKind kind_;
    Recovery recovery_;
};

/// A connection to a database file. One thread at a time may use it. It waits up to 5 s for a lock,
/// unless a NoWaiting exists in the thread. It makes no automatic checkpoints. Members that can
/// fail throw StorageError.
class Connection {
  public:
    /// Opens the file, or creates it. Reads nothing from it: the first statement does.
    explicit Connection(const std::string& path);

    /// Runs SQL statements and ignores their rows.
    void execute(const char* sql);

    /// Runs `PRAGMA journal_mode = WAL`. Waits for the locks of other connections.
    void set_wal_mode();

    /// Whether the file that is open is no longer the one at its path.
    bool is_moved() const;

    /// The first page in the database file, even if the WAL has a newer version of it; shorter if
    /// the file is. Reads through SQLite's descriptor: closing another descriptor of the file would
    /// drop the POSIX locks of this process.
    std::vector<unsigned char> first_page() const;

    const std::string& path() const { return path_; }
    /// The path of the write-ahead log (WAL).
    std::string wal_path() const;

    /// Pages in the WAL after the last commit of this connection that wrote.
    int wal_pages() const { return state_->wal_pages; }

    /// The checkpoint modes of sqlite3_wal_checkpoint_v2(). Both copy the whole WAL into the
    /// database file, so that the next writer restarts the WAL at its beginning.
    enum class Checkpoint : std::uint8_t {
        kRestart,
        kTruncate  ///< also truncates the WAL file to zero bytes
    };
    /// Makes a checkpoint. Waits up to `wait` for readers and writers. Returns false if one of them
    /// blocks the checkpoint for longer.
    bool checkpoint(Checkpoint mode, std::chrono::milliseconds wait);

    /// Makes SQLite checkpoint and delete the WAL when the last connection to the file closes.
    /// Without this call, closing writes nothing.
    void checkpoint_on_close();

    std::int64_t last_insert_rowid() const { return sqlite3_last_insert_rowid(handle_.get()); }
    bool is_in_transaction() const { return sqlite3_get_autocommit(handle_.get()) == 0; }

    /// Throws StorageError for `code`, an SQLite result code that this connection has just
    /// returned.
    [[noreturn]] void fail(int code) const;

    /// The connection keeps ownership.
    sqlite3* handle() const { return handle_.get(); }

  private:
    /// What SQLite's callbacks use. On the heap, because SQLite keeps its address.
    struct State {
        std::chrono::steady_clock::duration wait;  ///< for a lock
        std::chrono::steady_clock::time_point deadline;
        int wal_pages = 0;
    };
    struct Close {
        void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
    };
    static int wait_for_lock(void* data, int tries);

    std::string path_;
    std::unique_ptr<State> state_;
    std::unique_ptr<sqlite3, Close> handle_;
};

/// A prepared statement. The connection must outlive it. Parameters are counted from 1 and columns
/// from 0, as in SQLite. Members that can fail throw StorageError.
class Statement {
  public:
    Statement(const Connection& connection, const char* sql);

    void bind(int parameter, std::int64_t value);
    /// The text is not copied: it must stay valid until the statement is reset.
    void bind(int parameter, std::string_view text);
    void bind_null(int parameter);

    /// Runs a statement that returns no rows, and resets it.
    void run();

    /// Goes to the next row. False after the last one.
    bool step();
    /// Ends the current run. Bound values are kept.
    void reset() noexcept { sqlite3_reset(handle_.get()); }

    /// A column of the current row.
    std::int64_t int64(int column) const { return sqlite3_column_int64(handle_.get(), column); }
    /// A column of the current row; empty for NULL. Valid until the next step() or reset().
    std::string_view text(int column) const;

  private:
    struct Finalize {
        void operator()(sqlite3_stmt* handle) const { sqlite3_finalize(handle); }
    };
    void check(int code) const;

    const Connection* connection_;
    std::unique_ptr<sqlite3_stmt, Finalize> handle_;
};

}  // namespace petstore
