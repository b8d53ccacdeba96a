#pragma once

namespace petstore {

/// An object that stays where it is, as others point to it: neither copied nor moved.
class Pinned {
  public:
    Pinned(const Pinned&) = delete;
    Pinned(Pinned&&) = delete;
    Pinned& operator=(const Pinned&) = delete;
    Pinned& operator=(Pinned&&) = delete;

  protected:
    Pinned() = default;
    ~Pinned() = default;
};

}  // namespace petstore
