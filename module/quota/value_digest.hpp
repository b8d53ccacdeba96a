#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tollgate {

/// Names the counter of a value in a plan table with `by=$variable`: the first 64 bits of the
/// SHA-256 of the value. Two values of an id that are used at the same time have the same digest
/// with a probability of 2^-44 if there are a thousand, and of 2^-25 if there are a million.
class ValueDigest {
  public:
    /// That of no value: the counter belongs to the id.
    ValueDigest() = default;
    /// That of a value of any length. Throws std::runtime_error if OpenSSL fails.
    static ValueDigest of(std::string_view value);
    /// That whose number() this was.
    explicit ValueDigest(std::uint64_t number);

    /// That with this suffix(); of no value if there is none.
    static ValueDigest read(std::string_view suffix);

    /// 0: no value.
    std::uint64_t number() const { return number_; }
    explicit operator bool() const { return number_ != 0; }
    /// What follows the name of the table in the names of its keys in Redis: a colon and 16
    /// hexadecimal digits; empty without a value.
    std::string_view suffix() const { return {text_.data(), number_ == 0 ? 0 : text_.size()}; }

    bool operator==(const ValueDigest& other) const { return number_ == other.number_; }

  private:
    std::uint64_t number_ = 0;
    std::array<char, 17> text_{};
};

}  // namespace tollgate
