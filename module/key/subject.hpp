#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "module/key/key_record.hpp"

namespace tollgate {

/// An identity that another module of nginx has established for a request. It takes the place of a
/// key.
struct Subject {
    std::string_view id;      ///< empty: none
    std::string_view plan{};  ///< empty: the default of each plan table
};

/// Whether the id is one (see is_valid_key_id) and no dot segment, and the plan is a name or empty.
bool is_valid_subject(const Subject& subject);

/// The record of a valid subject. It has no limits and no scopes, and does not expire.
KeyRecord record_of(const Subject& subject);

/// What stands for a valid subject where a key has its token: its id and its plan. It begins with a
/// byte that no token contains.
class SubjectText {
  public:
    explicit SubjectText(const Subject& subject);
    std::string_view view() const { return {text_.data(), size_}; }

  private:
    std::array<char, 2 * kLongestId + 2> text_{};
    std::size_t size_ = 0;
};

}  // namespace tollgate
