#include "backend/storage/database_file.hpp"

#include <chrono>
#include <thread>
#include <vector>

#include "backend/storage/wal_file.hpp"

namespace petstore {
namespace {

/// A file that is missing has no inode.
struct stat status_of(const std::string& path) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) {
        status = {};
    }
    return status;
}

bool same_inode(const struct stat& a, const struct stat& b) {
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

bool not_later(const timespec& a, const timespec& b) {
    return a.tv_sec < b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec <= b.tv_nsec);
}

/// Whether the first transaction of a log, which wrote `first`, may have been made on a file that
/// begins with `base`. SQLite itself increments the change counter at most once for it.
bool precedes(const DatabaseHeader& base, const DatabaseHeader& first) {
    const std::uint32_t counted = first.change_counter - base.change_counter;
    const std::uint32_t cookies = first.schema_cookie - base.schema_cookie;
    const std::uint32_t batches =
        (first.user_version.batch - base.user_version.batch) % UserVersion::kBatches;
    constexpr std::uint32_t kMaxSchemaChanges = 1000;  // that one transaction makes
    // `.restore` of sqlite3 brings the batch number of the backup, and increments the cookie.
    const bool restored = cookies == 1;
    return counted <= 1 && (restored || (batches <= 1 && cookies <= kMaxSchemaChanges));
}

bool belongs(const WalContent& log, Bytes first_page, const std::string& path,
             const std::string& log_path) {
    if (!log.commits || log.holds_page) {
        return true;
    }
    if (first_page.size() < DatabaseHeader::kSize) {
        return false;
    }
    if (log.first_header) {
        return precedes(DatabaseHeader::of(first_page), *log.first_header);
    }
    // Only other programs have written, and not to the first page: only the time tells.
    return not_later(status_of(path).st_ctim, status_of(log_path).st_mtim);
}

/// What is at the path of a connection and of its log. Other processes may be writing both.
struct Tie {
    bool holds = false;
    bool has_commits = false;
};

Tie tie_of(const Connection& connection) {
    const std::string log_path = connection.log_path();
    constexpr int kTries = 100;
    for (int i = 0;; ++i) {
        const std::vector<unsigned char> page = connection.first_page();
        const std::string generation = wal_generation(log_path);
        const WalContent log = read_wal(log_path, page);
        if (belongs(log, page, connection.path(), log_path)) {
            return {true, log.commits};
        }
        // A checkpoint in between makes the two look like strangers.
        const bool steady =
            generation == wal_generation(log_path) && page == connection.first_page();
        if (steady || i == kTries) {
            return {false, log.commits};
        }
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
}

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
    throw StorageError(kDatabaseUnavailable, true, '"' + path + "\": " + what);
}

std::string quoted(const std::string& path) {
    return '"' + path + '"';
}

}  // namespace

void refuse_log_without_file(const std::string& path) {
    const std::string log_path = path + "-wal";
    if (status_of(path).st_ino == 0 && read_wal(log_path, {}).commits) {
        refuse(path, "the database file is missing, but its log " + quoted(log_path) +
                         " is there; put the file back, or remove " + quoted(log_path) + " and " +
                         quoted(path + "-shm") + " to start with another one");
    }
}

bool refuse_log_of_another_file(const Connection& connection) {
    const Tie tie = tie_of(connection);
    if (!tie.holds) {
        const std::string& path = connection.path();
        refuse(path, "the database file was replaced or overwritten, and " +
                         quoted(connection.log_path()) +
                         " is the log of the previous file; to use the file as it is now, remove " +
                         quoted(connection.log_path()) + " and " + quoted(path + "-shm"));
    }
    return tie.has_commits;
}

void refuse_moved(const Connection& connection) {
    if (connection.moved()) {
        refuse(connection.path(), "the database file was replaced while it was opened");
    }
}

DatabaseFile::DatabaseFile(const Connection& connection)
    : file_(status_of(connection.path())), log_(status_of(connection.log_path())) {
    refuse_moved(connection);
}

bool DatabaseFile::replaced(const Connection& connection) {
    const struct stat file = status_of(connection.path());
    if (!same_inode(file, file_) || !same_inode(status_of(connection.log_path()), log_)) {
        return true;
    }
    const bool unchanged = not_later(file.st_ctim, file_.st_ctim) &&
                           not_later(file_.st_ctim, file.st_ctim) && file.st_size == file_.st_size;
    if (unchanged) {
        return false;
    }
    // A checkpoint, or another program.
    if (!tie_of(connection).holds) {
        return true;
    }
    file_ = file;
    return false;
}

}  // namespace petstore
