#include "backend/storage/no_waiting.hpp"

#include <sqlite3.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>

namespace petstore {
namespace {

thread_local bool may_wait = true;
thread_local std::size_t bytes_left = 0;  ///< only if the thread may not wait

using Read = ssize_t (*)(int, void*, std::size_t, off_t);

/// Takes the place of pread() in SQLite. RWF_NOWAIT makes the kernel return EAGAIN if the bytes are
/// not in its cache, and EOPNOTSUPP if the file system does not know the flag.
ssize_t read_file(int fd, void* buffer, std::size_t size, off_t offset) noexcept {
    if (may_wait) {
        return pread(fd, buffer, size, offset);
    }
#ifdef RWF_NOWAIT
    if (size <= bytes_left) {
        bytes_left -= size;
        const iovec part{buffer, size};
        return preadv2(fd, &part, 1, offset, RWF_NOWAIT);
    }
#endif
    errno = EAGAIN;
    return -1;
}

/// Replaces SQLite's system call for reading files. This changes all VFSes for unix of the process,
/// but not what they do while the thread may wait.
bool replace_read(sqlite3_vfs& vfs) noexcept {
    constexpr int kVersionWithSystemCalls = 3;
    // Elsewhere the offset may be shorter than off_t.
    if (sizeof(long) < sizeof(sqlite3_int64) || vfs.iVersion < kVersionWithSystemCalls ||
        vfs.xSetSystemCall == nullptr) {
        return false;
    }
    for (const char* const name : {"pread64", "pread"}) {
        // SQLite knows both names, but has a function for the one that it calls only.
        if (vfs.xGetSystemCall(&vfs, name) != nullptr) {
            const Read read = read_file;
            return vfs.xSetSystemCall(&vfs, name, reinterpret_cast<sqlite3_syscall_ptr>(read)) ==
                   SQLITE_OK;
        }
    }
    return false;
}

/// SQLite sleeps between attempts to begin a transaction.
int sleep_unless_active(sqlite3_vfs* /*vfs*/, int microseconds) noexcept {
    if (may_wait) {
        usleep(static_cast<useconds_t>(microseconds));
    }
    return microseconds;
}

/// A copy of SQLite's default VFS with another function for sleeping. Nullptr on failure.
const char* register_vfs() noexcept {
    sqlite3_vfs* const base = sqlite3_vfs_find(nullptr);
    if (base == nullptr || !replace_read(*base)) {
        return nullptr;
    }
    static sqlite3_vfs vfs;
    vfs = *base;
    vfs.zName = "petstore";
    vfs.xSleep = sleep_unless_active;
    constexpr int kNotDefault = 0;
    return sqlite3_vfs_register(&vfs, kNotDefault) == SQLITE_OK ? vfs.zName : nullptr;
}

}  // namespace

NoWaiting::NoWaiting(std::size_t bytes) noexcept {
    may_wait = false;
    bytes_left = bytes;
}

NoWaiting::~NoWaiting() {
    may_wait = true;
}

bool NoWaiting::is_active() noexcept {
    return !may_wait;
}

const char* NoWaiting::vfs_name() noexcept {
    static const char* const name = register_vfs();
    return name;
}

}  // namespace petstore
