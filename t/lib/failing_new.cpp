// For LD_PRELOAD into nginx: replaces operator new, so that allocations of C++ fail as a test says.
// Allocations of C (nginx's pools, OpenSSL, hiredis) do not fail.
//
// TOLLGATE_FAILING_NEW names the control file, which FailingNew.pm writes and every process maps:
// see Control. The n-th allocation of a process fails or not by the seed and n alone.
// std::terminate() writes a back trace to stderr.

#include <execinfo.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <new>

// This file manages memory manually.
// NOLINTBEGIN(cppcoreguidelines-no-malloc,cppcoreguidelines-owning-memory)

namespace {

struct Control {
    std::uint32_t one_of;  // one allocation of so many fails; 0: none
    std::uint32_t seed;
    std::uint32_t failed;       // the number of failures so far, in all processes
    std::uint32_t workers[13];  // the processes whose allocations fail
};

Control nothing{};
Control* control = &nothing;
std::atomic<std::uint32_t> count{0};
std::atomic<std::uint32_t> counted_for{0};  // the seed that `count` belongs to

bool is_due() {
    const std::uint32_t one_of = *const_cast<volatile std::uint32_t*>(&control->one_of);
    if (one_of == 0) {
        return false;
    }
    const auto pid = static_cast<std::uint32_t>(getpid());
    if (std::find(std::begin(control->workers), std::end(control->workers), pid) ==
        std::end(control->workers)) {
        return false;
    }
    if (counted_for.exchange(control->seed) != control->seed) {
        count = 0;
    }
    std::uint64_t hash = (std::uint64_t{control->seed} << 32U) + ++count;  // splitmix64
    hash = (hash ^ hash >> 30U) * 0xbf58476d1ce4e5b9U;
    hash = (hash ^ hash >> 27U) * 0x94d049bb133111ebU;
    if ((hash ^ hash >> 31U) % one_of != 0) {
        return false;
    }
    std::atomic_ref(control->failed).fetch_add(1);
    return true;
}

[[noreturn]] void trace_and_abort() {
    void* frames[64];
    const int depth = backtrace(frames, 64);
    backtrace_symbols_fd(frames, depth, STDERR_FILENO);
    std::abort();
}

__attribute__((constructor)) void begin() {
    void* frame = nullptr;
    backtrace(&frame, 1);  // loads its library before the first failure
    std::set_terminate(trace_and_abort);
    const char* path = std::getenv("TOLLGATE_FAILING_NEW");
    const int file = path == nullptr ? -1 : open(path, O_RDWR | O_CLOEXEC);
    if (file == -1) {
        return;
    }
    void* mapped = mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped != MAP_FAILED) {
        control = static_cast<Control*>(mapped);
    }
    close(file);
}

void* allocate(std::size_t size) noexcept {
    return is_due() ? nullptr : std::malloc(std::max<std::size_t>(size, 1));
}

void* allocate(std::size_t size, std::align_val_t alignment) noexcept {
    void* memory = nullptr;
    const auto least = std::max(static_cast<std::size_t>(alignment), sizeof(void*));
    return is_due() || posix_memalign(&memory, least, std::max<std::size_t>(size, 1)) != 0 ? nullptr
                                                                                           : memory;
}

void* require(void* memory) {
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    return memory;
}

}  // namespace

#pragma GCC visibility push(default)
void* operator new(std::size_t size) {
    return require(allocate(size));
}
void* operator new[](std::size_t size) {
    return require(allocate(size));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
    return require(allocate(size, alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
    return require(allocate(size, alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return allocate(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
    return allocate(size);
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    return allocate(size, alignment);
}
void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    return allocate(size, alignment);
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete[](void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, const std::nothrow_t&) noexcept {
    std::free(memory);
}
#pragma GCC visibility pop
// NOLINTEND(cppcoreguidelines-no-malloc,cppcoreguidelines-owning-memory)
