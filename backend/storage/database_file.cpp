#include "backend/storage/database_file.hpp"

#include <chrono>
#include <thread>
#include <vector>

#include "backend/storage/file_format.hpp"

namespace petstore {
namespace {

/// The status of the file at `path`. If there is none, the inode is 0.
struct stat status_of(const std::string& path) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) {
        status = {};
    }
    return status;
}

bool is_same_inode(const struct stat& a, const struct stat& b) {
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

bool is_same_version(const struct stat& a, const struct stat& b) {
    return is_same_inode(a, b) && a.st_size == b.st_size && a.st_ctim.tv_sec == b.st_ctim.tv_sec &&
           a.st_ctim.tv_nsec == b.st_ctim.tv_nsec;
}

bool is_not_later(const timespec& a, const timespec& b) {
    return a.tv_sec < b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec <= b.tv_nsec);
}

/// Whether a transaction that wrote the header `next` may have followed the header `previous`.
/// SQLite increments the change counter by at most one in a transaction.
bool may_follow(const DatabaseHeader& next, const DatabaseHeader& previous) {
    const std::uint32_t changes = next.change_counter - previous.change_counter;
    const std::uint32_t cookies = next.schema_cookie - previous.schema_cookie;
    const std::uint32_t transactions =
        (next.user_version.transaction - previous.user_version.transaction) %
        UserVersion::kTransactionNumbers;
    constexpr std::uint32_t kMaxSchemaChanges = 1000;  // in one transaction
    // `.restore` of sqlite3 writes the transaction number of the backup, and increments the cookie.
    const bool is_restore = cookies == 1;
    return changes <= 1 && (is_restore || (transactions <= 1 && cookies <= kMaxSchemaChanges));
}

bool belongs(const WalContent& wal, Bytes first_page, const std::string& path,
             const std::string& wal_path) {
    if (!wal.has_commits || wal.has_page) {
        return true;
    }
    if (first_page.size() < DatabaseHeader::kSize) {
        return false;
    }
    if (wal.first_header) {
        return may_follow(*wal.first_header, DatabaseHeader::of(first_page));
    }
    // Only other programs have written to the WAL, and not the first page: compare the times.
    return is_not_later(status_of(path).st_ctim, status_of(wal_path).st_mtim);
}

struct WalCheck {
    bool belongs = false;      ///< to the database file
    bool has_commits = false;  ///< in the WAL
};

/// Reads the database file and the WAL at the connection's paths. Other processes may write both
/// meanwhile.
WalCheck check_wal(const Connection& connection) {
    const std::string wal_path = connection.wal_path();
    constexpr int kTries = 100;
    for (int i = 0;; ++i) {
        const std::vector<unsigned char> page = connection.first_page();
        const std::string header = read_wal_header(wal_path);
        const WalContent wal = read_wal(wal_path, page);
        if (belongs(wal, page, connection.path(), wal_path)) {
            return {true, wal.has_commits};
        }
        // A checkpoint between the reads makes a matching pair look like a mismatch: read again.
        const bool is_unchanged =
            header == read_wal_header(wal_path) && page == connection.first_page();
        if (is_unchanged || i == kTries) {
            return {false, wal.has_commits};
        }
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
}

std::string in_quotes(const std::string& path) {
    return '"' + path + '"';
}

[[noreturn]] void throw_unavailable(const std::string& path, const std::string& what) {
    throw StorageError(kDatabaseUnavailable, StorageError::Recovery::kReopen,
                       in_quotes(path) + ": " + what);
}

}  // namespace

void check_wal_has_database(const std::string& path) {
    const std::string wal_path = path + "-wal";
    if (status_of(path).st_ino == 0 && read_wal(wal_path, {}).has_commits) {
        throw_unavailable(
            path, "the database file is missing, but its write-ahead log " + in_quotes(wal_path) +
                      " exists; put the database file back, or " + "remove " + in_quotes(wal_path) +
                      " and " + in_quotes(path + "-shm") + " to create a new database");
    }
}

bool check_wal_belongs(const Connection& connection) {
    const WalCheck check = check_wal(connection);
    if (!check.belongs) {
        const std::string& path = connection.path();
        const std::string wal_path = in_quotes(connection.wal_path());
        throw_unavailable(path, "the database file was replaced or overwritten, and " + wal_path +
                                    " is the write-ahead log of the previous file; put the " +
                                    "previous file back, or remove " + wal_path + " and " +
                                    in_quotes(path + "-shm") + " to use the present file");
    }
    return check.has_commits;
}

void check_not_moved(const Connection& connection) {
    if (connection.is_moved()) {
        throw_unavailable(connection.path(),
                          "the database file was replaced while it was opened; the next request "
                          "opens the new file");
    }
}

DatabaseFile::DatabaseFile(const Connection& connection)
    : file_(status_of(connection.path())), wal_(status_of(connection.wal_path())) {
    check_not_moved(connection);
}

bool DatabaseFile::is_unchanged(const Connection& connection) const {
    return is_same_version(status_of(connection.path()), file_) &&
           is_same_inode(status_of(connection.wal_path()), wal_);
}

bool DatabaseFile::is_replaced(const Connection& connection) {
    const struct stat file = status_of(connection.path());
    if (!is_same_inode(file, file_) || !is_same_inode(status_of(connection.wal_path()), wal_)) {
        return true;
    }
    if (is_same_version(file, file_)) {
        return false;
    }
    // A checkpoint or another program has written to the file.
    if (!check_wal(connection).belongs) {
        return true;
    }
    file_ = file;
    return false;
}

}  // namespace petstore
