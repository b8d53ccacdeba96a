#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "module/management/stored_key.hpp"

namespace tollgate::management {

/// What names a list shows: those that begin with a text or, if the text has `*`, `?` or `[…]`,
/// those that match it as a pattern. Capital letters are the same as lower-case ones: see
/// fold_case().
class NamePattern {
  public:
    explicit NamePattern(std::string_view text);

    /// With what each of these names begins, without capital letters.
    std::string_view prefix() const { return prefix_; }
    bool is_prefix() const { return pattern_.empty(); }
    /// Whether a name without capital letters that begins with prefix() is one of them.
    bool matches(const std::string& name) const;

  private:
    std::string prefix_;
    std::string pattern_;  ///< of the whole name; empty: the prefix says all
};

/// The ids that a list shows: those that match all members that are set.
struct KeyFilter {
    std::optional<std::string> plan{};
    std::optional<std::string> state{};                        ///< see state_of()
    std::optional<std::string> name{};                         ///< see NamePattern
    std::optional<std::chrono::sys_seconds> expires_before{};  ///< a key without an end is no match
    std::optional<std::string> scope{};                        ///< that the key has
    /// A member of the meta that the key has: `NAME=VALUE`, the value as meta_text() writes it.
    std::optional<std::string> meta{};
    std::optional<std::string> group{};
    std::optional<std::chrono::sys_seconds> created_from{};  ///< the id was issued then or later

    bool is_empty() const { return *this == KeyFilter{}; }
    bool operator==(const KeyFilter&) const = default;
};

/// Throws OperationError with Reason::kInvalid if a value is not valid. The message begins with its
/// name.
void validate(const KeyFilter& filter);

}  // namespace tollgate::management
