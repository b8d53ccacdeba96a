// For LD_PRELOAD into redis-server or nginx: shifts the wall clock as a test says. The monotonic
// clock is not shifted. libfaketime cannot be used: redis-server calls clock_gettime() from its
// allocator, before libfaketime is ready.
//
// TOLLGATE_CLOCK names a file, which ShiftedClock.pm writes and every process maps: the seconds by
// which the clock is ahead, as a number of 8 bytes.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

const std::int64_t* map_file() {
    static const std::int64_t none = 0;
    const char* const path = std::getenv("TOLLGATE_CLOCK");
    const int file = path == nullptr ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return &none;
    }
    void* const memory = mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, file, 0);
    close(file);
    return memory == MAP_FAILED ? &none : static_cast<const std::int64_t*>(memory);
}

const std::int64_t* const ahead = map_file();

/// 0 before this library is initialized: the allocator may read the clock earlier.
std::int64_t seconds_ahead() {
    return ahead == nullptr ? 0 : *const_cast<const volatile std::int64_t*>(ahead);
}

int read_clock(clockid_t clock, timespec* time) {
    return static_cast<int>(syscall(SYS_clock_gettime, clock, time));
}

}  // namespace

// The C library names its parameters with leading underscores.
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
extern "C" {

[[gnu::visibility("default")]] int clock_gettime(clockid_t clock, timespec* time) {
    const int result = read_clock(clock, time);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        time->tv_sec += seconds_ahead();
    }
    return result;
}

[[gnu::visibility("default")]] int gettimeofday(timeval* time, void* /*zone*/) {
    timespec now{};
    const int result = clock_gettime(CLOCK_REALTIME, &now);
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return result;
}

[[gnu::visibility("default")]] time_t time(time_t* result) {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    if (result != nullptr) {
        *result = now.tv_sec;
    }
    return now.tv_sec;
}

}  // extern "C"
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
