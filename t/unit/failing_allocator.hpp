#pragma once

namespace tollgate {

/// The number of C++ allocations that succeed before the next one fails; below 0: all succeed. Each
/// test resets it.
extern int allocations_left;

/// Lets all allocations succeed during its lifetime: for code that simulates nginx or the network.
class UnlimitedMemory {
  public:
    UnlimitedMemory() : left_(allocations_left) { allocations_left = -1; }
    ~UnlimitedMemory() { allocations_left = left_; }
    UnlimitedMemory(const UnlimitedMemory&) = delete;
    UnlimitedMemory& operator=(const UnlimitedMemory&) = delete;

  private:
    int left_;
};

}  // namespace tollgate
