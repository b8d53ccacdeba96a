#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace tollgate::management {

// The parts of a JSON text as they are in the text, so that each can be parsed on its own. The text
// must be valid.

/// The members of an object: the names as they are between their quotation marks, and the values.
/// None if the text is not an object.
std::vector<std::pair<std::string_view, std::string_view>> members_in(std::string_view json);

/// A list that is the only member of an object: `{"NAME":[…]}`. The elements are found one by one,
/// so that a long text is read in several turns. What is around the elements is checked here; each
/// element must be checked on its own before it is used.
class ListSlices {
  public:
    /// `text` must outlive the object, `most` is the longest element in bytes.
    ListSlices(std::string_view text, std::string_view name, std::size_t most);

    /// What comes next.
    enum class Next : std::uint8_t {
        kElement,
        kEnd,      ///< of the list, and of a text that was valid around its elements
        kTooLong,  ///< the next element is longer than `most`
        kInvalid,  ///< the text is not valid
        kOther,    ///< the text is no object with this list alone
    };
    Next next();
    /// The element that next() has found.
    std::string_view element() const { return element_; }

  private:
    std::string_view text_;
    std::size_t at_ = 0;  ///< after what was read
    std::size_t most_;
    std::string_view element_{};
    bool is_list_ = false;
    bool is_first_ = true;
};

}  // namespace tollgate::management
