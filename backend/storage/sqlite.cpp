#include "backend/storage/sqlite.hpp"

#include <cerrno>
#include <chrono>
#include <thread>

namespace petstore {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kBusyTimeout{5};

/// SQLite's own busy handler backs off to 100 ms between tries: among writers that never rest, it
/// starves. Another process's lock gives no event to wait for, so this one asks each millisecond.
int wait_for_lock(void* /*data*/, int tries) {
    thread_local steady_clock::time_point deadline;  // a thread waits for one lock at a time
    if (tries == 0) {
        deadline = steady_clock::now() + kBusyTimeout;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
    return steady_clock::now() < deadline ? 1 : 0;
}

bool out_of_space(int code, int system_error) {
    return code == SQLITE_FULL ||
           (code == SQLITE_IOERR && (system_error == ENOSPC || system_error == EDQUOT));
}

ErrorKind kind_of(int code, int system_error) {
    if (out_of_space(code, system_error)) {
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

}  // namespace

Connection::Connection(const std::string& path) : path_(path) {
    sqlite3* handle = nullptr;
    constexpr int kFlags =
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    const int code = sqlite3_open_v2(path.c_str(), &handle, kFlags, nullptr);
    handle_.reset(handle);
    if (code != SQLITE_OK) {
        fail(code);
    }
    sqlite3_busy_handler(handle, wait_for_lock, nullptr);
}

void Connection::execute(const char* sql) {
    const int code = sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) {
        fail(code);
    }
}

bool Connection::moved() const {
    int moved = 0;
    sqlite3_file_control(handle_.get(), nullptr, SQLITE_FCNTL_HAS_MOVED, &moved);
    return moved != 0;
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
    const bool reopen = !out_of_space(primary, system_error) && primary != SQLITE_BUSY;
    throw StorageError(kind_of(primary, system_error), reopen, text);
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
