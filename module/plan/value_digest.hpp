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
    /// The digest of no value: the counter belongs to the id.
    ValueDigest() = default;
    /// The digest of a value of any length. Throws std::runtime_error if OpenSSL fails.
    static ValueDigest of(std::string_view value);
    /// The digest for the counter of a group, which is no value: see CountedBy::kGroup.
    static ValueDigest of_group();
    /// What is in place of suffix() in the name of the counter that the values share which have
    /// none of their own in Redis: see PlanTable::most_values. No value has this suffix.
    static constexpr std::string_view kOthersSuffix = ":others";
    /// The digest whose number() this was.
    explicit ValueDigest(std::uint64_t number);

    /// The digest with this suffix(); the digest of no value if there is none.
    static ValueDigest read(std::string_view suffix);

    /// 0: no value.
    std::uint64_t number() const { return number_; }
    explicit operator bool() const { return number_ != 0; }
    /// Whether it is the number() of a value, and not of a group or of no value.
    static bool is_of_value(std::uint64_t number) { return number > kGroup; }
    /// What follows the name of the table in the names of its keys in Redis: a colon and 16
    /// hexadecimal digits; `:group` of a group; empty without a value.
    std::string_view suffix() const {
        return number_ == kGroup ? kGroupSuffix
                                 : std::string_view(text_.data(), number_ == 0 ? 0 : text_.size());
    }
    bool is_group() const { return number_ == kGroup; }

    bool operator==(const ValueDigest& other) const { return number_ == other.number_; }

  private:
    /// No value has this number.
    static constexpr std::uint64_t kGroup = 1;
    static constexpr std::string_view kGroupSuffix = ":group";

    std::uint64_t number_ = 0;
    std::array<char, 17> text_{};
};

}  // namespace tollgate
