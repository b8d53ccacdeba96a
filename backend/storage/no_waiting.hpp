#pragma once

#include <cstddef>

namespace petstore {

/// While an object of this class exists, SQLite does not wait in the thread that made it: a
/// statement fails that would wait for a disk or for a lock. A statement succeeds if its pages are
/// in SQLite's cache or in that of the kernel. One object at a time exists in a thread.
///
/// Only connections of the class Connection heed it.
class NoWaiting {
  public:
    /// `bytes` is the amount that SQLite may read from files until a statement fails, because
    /// copies from the cache of the kernel take time too.
    explicit NoWaiting(std::size_t bytes) noexcept;
    ~NoWaiting();
    NoWaiting(const NoWaiting&) = delete;
    NoWaiting& operator=(const NoWaiting&) = delete;

    /// Whether an object exists in this thread.
    static bool is_active() noexcept;

    /// The name of the VFS that connections are opened with. The first call in a process prepares
    /// SQLite. Nullptr if this version of SQLite can't be prepared: the default VFS is to be used,
    /// and SQLite waits in spite of an object.
    static const char* vfs_name() noexcept;
};

}  // namespace petstore
