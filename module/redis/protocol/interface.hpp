#pragma once

namespace tollgate::redis {

/// The base of a class whose functions others implement.
class Interface {
  public:
    Interface() = default;
    Interface(const Interface&) = delete;
    Interface& operator=(const Interface&) = delete;
    virtual ~Interface() = default;
};

}  // namespace tollgate::redis
