// Replaces operator new of this program: see failing_allocator.hpp.

#include "t/unit/failing_allocator.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

namespace tollgate {

int allocations_left = -1;

}  // namespace tollgate

// NOLINTBEGIN(cppcoreguidelines-no-malloc,cppcoreguidelines-owning-memory): it replaces new
[[gnu::noinline]] void* operator new(std::size_t size) {
    if (tollgate::allocations_left == 0) {
        throw std::bad_alloc();
    }
    tollgate::allocations_left -= tollgate::allocations_left > 0 ? 1 : 0;
    if (void* memory = std::malloc(size == 0 ? 1 : size)) {
        return memory;
    }
    throw std::bad_alloc();
}
// std::stable_partition uses it. All forms must allocate in the same way: AddressSanitizer has its
// own.
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
    try {
        return ::operator new(size);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t /*size*/) noexcept {
    std::free(memory);
}
// NOLINTEND(cppcoreguidelines-no-malloc,cppcoreguidelines-owning-memory)

namespace tollgate {
namespace {

TEST(FailingAllocator, FailsWhenNoneIsLeft) {
    // Called as functions: the compiler may leave out a new expression.
    bool failed = false;
    allocations_left = 1;
    ::operator delete(::operator new(1));
    try {
        ::operator delete(::operator new(1));
    } catch (const std::bad_alloc&) {
        failed = true;
    }
    allocations_left = 0;
    void* none = ::operator new(1, std::nothrow);
    allocations_left = -1;
    EXPECT_TRUE(failed);
    EXPECT_EQ(none, nullptr);
}

}  // namespace
}  // namespace tollgate
