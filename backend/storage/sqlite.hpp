#pragma once

#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/refusal.hpp"

namespace petstore {

/// Thrown for all that SQLite refuses. The text is for the log: it names the file and says what
/// happened.
class StorageError : public std::runtime_error {
  public:
    StorageError(ErrorKind kind, bool reopen, const std::string& text)
        : std::runtime_error(text), kind_(kind), reopen_(reopen) {}

    /// What the client is told.
    ErrorKind kind() const { return kind_; }
    /// Whether a fresh connection may fare better: the file may have been replaced or repaired.
    bool reopen() const { return reopen_; }

  private:
    ErrorKind kind_;
    bool reopen_;
};

/// A connection to a database file, to be used by one thread at a time. It waits up to 5 s for a
/// lock. It makes no checkpoints by itself.
class Connection {
  public:
    /// Opens the file, which is created if need be. Reads nothing yet.
    explicit Connection(const std::string& path);

    /// Runs statements that return nothing of interest.
    void execute(const char* sql);

    /// Whether the file that is open is no longer the one at its path.
    bool moved() const;

    /// The first page of the database file itself, without what the log holds of it; shorter where
    /// the file is. The file is read through SQLite's own descriptor: to close another one would
    /// drop the locks that the process has on the file.
    std::vector<unsigned char> first_page() const;

    const std::string& path() const { return path_; }
    /// Of the write-ahead log.
    std::string log_path() const;

    /// Pages in the log after the last commit of this connection that wrote.
    int log_pages() const { return state_->log_pages; }

    /// Moves the log into the database file and lets the next writer begin it anew; `truncate` also
    /// empties the file. Waits for other readers and writers, so long at most. Returns false if
    /// one of them is in the way.
    bool checkpoint(bool truncate, std::chrono::milliseconds wait);

    /// Makes the last connection that closes move the log into the database file and delete it.
    /// Without this call closing writes nothing.
    void checkpoint_on_close();

    std::int64_t last_insert_rowid() const { return sqlite3_last_insert_rowid(handle_.get()); }
    bool in_transaction() const { return sqlite3_get_autocommit(handle_.get()) == 0; }

    /// Throws the StorageError for what SQLite answered last.
    [[noreturn]] void fail(int code) const;

    sqlite3* handle() const { return handle_.get(); }

  private:
    /// What SQLite's callbacks use; it stays where it is.
    struct State {
        std::chrono::steady_clock::duration wait;  ///< for a lock
        std::chrono::steady_clock::time_point deadline;
        int log_pages = 0;
    };
    struct Close {
        void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
    };
    static int wait_for_lock(void* data, int tries);

    std::string path_;
    std::unique_ptr<State> state_;
    std::unique_ptr<sqlite3, Close> handle_;
};

/// A prepared statement of a connection that outlives it. Parameters and columns count as SQLite
/// does: from 1 and from 0.
class Statement {
  public:
    Statement(const Connection& connection, const char* sql);

    void bind(int parameter, std::int64_t value);
    /// The text must stay where it is until the statement is reset.
    void bind(int parameter, std::string_view text);
    void bind_null(int parameter);

    /// Runs a statement that has no rows, from its start to its end.
    void run();

    /// Goes to the next row; false when there is none.
    bool step();
    /// Ends the run; what was bound is kept.
    void reset() noexcept { sqlite3_reset(handle_.get()); }

    std::int64_t int64(int column) const { return sqlite3_column_int64(handle_.get(), column); }
    /// Empty for NULL. Valid until the next step.
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
