#pragma once

namespace tollgate {

/// How many allocations of C++ succeed before the next one fails; below 0: all do. Each test sets
/// it back.
extern int allocations_left;

/// Lets all allocations succeed while it lives: for what stands for nginx or the network in a test.
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
