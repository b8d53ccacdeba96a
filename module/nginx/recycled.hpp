#pragma once

#include <cstddef>
#include <new>

namespace tollgate::nginx {

/// A base of a class T of which nearly every request needs an object. Its memory is not that of the
/// request's pool, which would often take another block for it. It is kept for the next object: as
/// much as was in use at a time, up to kMostSpare objects. Not for several threads.
template <typename T>
class Recycled {
  public:
    static constexpr std::size_t kMostSpare = 1024;

    /// Throws std::bad_alloc.
    static void* operator new(std::size_t size) {
        if (first_ == nullptr) {
            return ::operator new(size);
        }
        Spare* taken = first_;
        first_ = taken->next;
        --spare_;
        return taken;
    }
    static void operator delete(void* memory) noexcept {
        if (spare_ == kMostSpare) {
            ::operator delete(memory);
            return;
        }
        first_ = ::new (memory) Spare{first_};
        ++spare_;
    }

  private:
    struct Spare {
        Spare* next;
    };

    static inline Spare* first_ = nullptr;
    static inline std::size_t spare_ = 0;
};

}  // namespace tollgate::nginx
