#pragma once

#include <chrono>
#include <mutex>

#include "module/report/lock_statistics.hpp"

namespace tollgate {

#ifdef TOLLGATE_LOCK_STATISTICS

constexpr bool kMeasuresLock = true;

/// Measures one hold of a lock. Its construction begins the wait for the lock.
class LockHold {
  public:
    void begin() noexcept { begun_ = Clock::now(); }
    void end() noexcept { ended_ = Clock::now(); }
    /// After the lock is released.
    void count(LockStatistics* statistics) const noexcept {
        if (statistics != nullptr) {
            statistics->note(begun_ - asked_, ended_ - begun_);
        }
    }

  private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point asked_ = Clock::now();
    Clock::time_point begun_;
    Clock::time_point ended_;
};

#else

constexpr bool kMeasuresLock = false;

/// Nothing is measured without -DTOLLGATE_LOCK_STATISTICS=ON.
class LockHold {
  public:
    void begin() noexcept {}
    void end() noexcept {}
    void count(LockStatistics* /*statistics*/) const noexcept {}
};

#endif

/// A mutex in a zone, which processes share.
class ZoneMutex {
  public:
    ZoneMutex() = default;
    ZoneMutex(const ZoneMutex&) = delete;
    ZoneMutex& operator=(const ZoneMutex&) = delete;
    virtual ~ZoneMutex() = default;

    virtual void lock() noexcept = 0;
    virtual void unlock() noexcept = 0;
};

/// Holds a mutex.
class ZoneLock {
  public:
    /// The statistics count the hold, if that is measured; nullptr: they do not.
    ZoneLock(ZoneMutex& mutex, LockStatistics* statistics) noexcept
        : mutex_(mutex), statistics_(statistics) {
        mutex_.lock();
        hold_.begin();
    }
    ~ZoneLock() {
        hold_.end();
        mutex_.unlock();
        hold_.count(statistics_);
    }
    ZoneLock(const ZoneLock&) = delete;
    ZoneLock& operator=(const ZoneLock&) = delete;

  private:
    [[no_unique_address]] LockHold hold_;  // constructed before the mutex is locked
    ZoneMutex& mutex_;
    LockStatistics* statistics_;
};

}  // namespace tollgate
