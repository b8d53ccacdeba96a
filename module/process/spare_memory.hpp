#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace tollgate {

/// Memory of one size, of which nearly every request needs a piece. It is kept for the next
/// request: as much as was in use at a time, up to kMostSpare pieces. Not for several threads.
template <std::size_t kSize>
class SpareMemory {
  public:
#ifdef __SANITIZE_ADDRESS__
    static constexpr std::size_t kMostSpare = 0;  // so that each use of freed memory is found
#else
    static constexpr std::size_t kMostSpare = 1024;
#endif

    /// Throws std::bad_alloc.
    static void* take() {
        if (first_ == nullptr) {
            return ::operator new(kSize);
        }
        Spare* taken = first_;
        first_ = taken->next;
        --spare_;
        return taken;
    }
    static void give(void* memory) noexcept {
        if (spare_ == kMostSpare) {
            ::operator delete(memory);
            return;
        }
        first_ = std::construct_at(static_cast<Spare*>(memory), Spare{first_});
        ++spare_;
    }

  private:
    struct Spare {
        Spare* next;
    };
    static_assert(kSize >= sizeof(Spare));

    static inline Spare* first_ = nullptr;
    static inline std::size_t spare_ = 0;
};

/// An allocator for vectors that usually have at most kFew elements: these are in spare memory.
template <typename T, std::size_t kFew>
struct SpareAllocator {
    using value_type = T;
    template <typename U>
    struct rebind {
        using other = SpareAllocator<U, kFew>;
    };

    SpareAllocator() = default;
    /// For std::allocate_shared.
    template <typename U>
    SpareAllocator(const SpareAllocator<U, kFew>& /*other*/) noexcept {}

    T* allocate(std::size_t count) {
        return static_cast<T*>(count <= kFew ? Few::take() : ::operator new(count * sizeof(T)));
    }
    void deallocate(T* memory, std::size_t count) noexcept {
        count <= kFew ? Few::give(memory) : ::operator delete(memory);
    }
    bool operator==(const SpareAllocator&) const = default;

  private:
    using Few = SpareMemory<kFew * sizeof(T)>;
};

}  // namespace tollgate
