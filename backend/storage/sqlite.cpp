#include "backend/storage/sqlite.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "backend/storage/file_format.hpp"
#include "backend/storage/no_waiting.hpp"

namespace petstore {
namespace {

constexpr std::chrono::seconds kBusyTimeout{5};

bool is_out_of_space(int code, int system_error) {
    return code == SQLITE_FULL ||
           (code == SQLITE_IOERR && (system_error == ENOSPC || system_error == EDQUOT));
}

/// `code` is a primary result code of SQLite, `system_error` the errno that caused it.
ErrorKind kind_of(int code, int system_error) {
    if (is_out_of_space(code, system_error)) {
        return kStorageFull;
    }
    switch (code) {
        case SQLITE_BUSY:
        case SQLITE_CANTOPEN:
        case SQLITE_CORRUPT:
        case SQLITE_IOERR:
        case SQLITE_LOCKED:
        case SQLITE_NOMEM:
        case SQLITE_NOTADB:
        case SQLITE_PERM:
        case SQLITE_PROTOCOL:
        case SQLITE_READONLY:
            return kDatabaseUnavailable;
        default:
            return kInternalError;
    }
}

/// Creates the file if there is none, for its owner and group only: SQLite would let everybody read
/// it, as far as the umask allows, and gives the mode of the file to `-wal` and `-shm`. An error is
/// left to SQLite. mknod() opens no descriptor: closing one would drop the POSIX locks that another
/// connection of this process has on the file.
void create_file(const std::string& path) {
    constexpr mode_t kMode = S_IRUSR | S_IWUSR | S_IRGRP;
    static_cast<void>(mknod(path.c_str(), S_IFREG | kMode, 0));
}

}  // namespace

Connection::Connection(const std::string& path)
    : path_(path), state_(std::make_unique<State>(State{kBusyTimeout, {}, 0})) {
    create_file(path);
    sqlite3* handle = nullptr;
    constexpr int kFlags =
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    const int code = sqlite3_open_v2(path.c_str(), &handle, kFlags, NoWaiting::vfs_name());
    handle_.reset(handle);
    if (code != SQLITE_OK) {
        fail(code);
    }
    sqlite3_busy_handler(handle, wait_for_lock, state_.get());
    sqlite3_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    // Replaces SQLite's own hook, which makes an automatic checkpoint at each 1000 pages.
    const auto save_pages = [](void* data, sqlite3*, const char*, int pages) {
        static_cast<State*>(data)->wal_pages = pages;
        return SQLITE_OK;
    };
    sqlite3_wal_hook(handle, save_pages, state_.get());
}

/// A busy handler. SQLite's own one sleeps for up to 100 ms between tries, and starves while other
/// connections write without a pause. This one tries each millisecond. There is no event to wait
/// for: another process holds the lock.
int Connection::wait_for_lock(void* data, int tries) {
    if (NoWaiting::is_active()) {
        return 0;
    }
    auto& state = *static_cast<State*>(data);
    const auto now = std::chrono::steady_clock::now();
    if (tries == 0) {
        state.deadline = now + state.wait;
    } else if (now >= state.deadline) {
        return 0;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
    return 1;
}

void Connection::execute(const char* sql) {
    const int code = sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) {
        fail(code);
    }
}

/// SQLite upgrades its own read lock for this PRAGMA, and doesn't call the busy handler for an
/// upgrade: the busy handler could wait for a connection that waits for the read lock.
void Connection::set_wal_mode() {
    const auto deadline = std::chrono::steady_clock::now() + kBusyTimeout;
    constexpr const char* kSql = "PRAGMA journal_mode = WAL";
    int code = sqlite3_exec(handle_.get(), kSql, nullptr, nullptr, nullptr);
    while ((code & 0xff) == SQLITE_BUSY && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
        code = sqlite3_exec(handle_.get(), kSql, nullptr, nullptr, nullptr);
    }
    if (code != SQLITE_OK) {
        fail(code);
    }
}

bool Connection::is_moved() const {
    int is_moved = 0;
    sqlite3_file_control(handle_.get(), nullptr, SQLITE_FCNTL_HAS_MOVED, &is_moved);
    return is_moved != 0;
}

std::vector<unsigned char> Connection::first_page() const {
    sqlite3_file* file = nullptr;
    sqlite3_file_control(handle_.get(), nullptr, SQLITE_FCNTL_FILE_POINTER, &file);
    std::vector<unsigned char> page;
    const auto read = [&](std::int64_t size) {
        sqlite3_int64 available = 0;
        int code = file->pMethods->xFileSize(file, &available);
        if (code == SQLITE_OK) {
            page.resize(static_cast<std::size_t>(std::min<std::int64_t>(available, size)));
            code = file->pMethods->xRead(file, page.data(), static_cast<int>(page.size()), 0);
        }
        if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ) {
            fail(code);
        }
    };
    read(DatabaseHeader::kSize);
    if (page.size() == DatabaseHeader::kSize) {
        const std::int64_t size = page[16] << 8U | page[17];
        constexpr std::int64_t kLargestPage = 65536;  // the header stores it as 1
        read(size == 1 ? kLargestPage : std::max<std::int64_t>(size, DatabaseHeader::kSize));
    }
    return page;
}

std::string Connection::wal_path() const {
    return sqlite3_filename_wal(sqlite3_db_filename(handle_.get(), "main"));
}

bool Connection::checkpoint(Checkpoint mode, std::chrono::milliseconds wait) {
    state_->wait = wait;
    const int code = sqlite3_wal_checkpoint_v2(
        handle_.get(), nullptr,
        mode == Checkpoint::kTruncate ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_RESTART,
        nullptr, nullptr);
    state_->wait = kBusyTimeout;
    if (code != SQLITE_OK && (code & 0xff) != SQLITE_BUSY) {
        fail(code);
    }
    return code == SQLITE_OK;
}

void Connection::checkpoint_on_close() {
    sqlite3_db_config(handle_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
}

void Connection::fail(int code) const {
    const int system_error = handle_ ? sqlite3_system_errno(handle_.get()) : 0;
    std::string text = "\"" + path_ + "\": ";
    text += handle_ ? sqlite3_errmsg(handle_.get()) : sqlite3_errstr(code);
    text += " (SQLite " + std::to_string(code);
    if (system_error != 0) {
        text += ", errno " + std::to_string(system_error);
    }
    text += ')';
    const int primary = code & 0xff;  // the low byte of an extended result code
    const bool retry = is_out_of_space(primary, system_error) || primary == SQLITE_BUSY;
    throw StorageError(kind_of(primary, system_error),
                       retry ? StorageError::Recovery::kRetry : StorageError::Recovery::kReopen,
                       text);
}

Statement::Statement(const Connection& connection, const char* sql) : connection_(&connection) {
    sqlite3_stmt* handle = nullptr;
    const int code = sqlite3_prepare_v3(connection.handle(), sql, -1, SQLITE_PREPARE_PERSISTENT,
                                        &handle, nullptr);
    handle_.reset(handle);
    check(code);
}

void Statement::bind(int parameter, std::int64_t value) {
    check(sqlite3_bind_int64(handle_.get(), parameter, value));
}

void Statement::bind(int parameter, std::string_view text) {
    check(sqlite3_bind_text64(handle_.get(), parameter, text.data(), text.size(), SQLITE_STATIC,
                              SQLITE_UTF8));
}

void Statement::bind_null(int parameter) {
    check(sqlite3_bind_null(handle_.get(), parameter));
}

void Statement::run() {
    const int code = sqlite3_step(handle_.get());
    reset();
    if (code != SQLITE_DONE) {
        check(code);
    }
}

bool Statement::step() {
    const int code = sqlite3_step(handle_.get());
    if (code != SQLITE_ROW && code != SQLITE_DONE) {
        check(code);
    }
    return code == SQLITE_ROW;
}

std::string_view Statement::text(int column) const {
    const auto* const bytes = static_cast<const char*>(sqlite3_column_blob(handle_.get(), column));
    return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(handle_.get(), column))};
}

void Statement::check(int code) const {
    if (code != SQLITE_OK) {
        connection_->fail(code);
    }
}

}  // namespace petstore
