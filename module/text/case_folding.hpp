#pragma once

#include <string>
#include <string_view>

namespace tollgate {

/// A UTF-8 text with lower-case letters instead of the capital ones of the Latin, Greek and
/// Cyrillic scripts up to U+052F that have one lower-case letter of two bytes (Unicode,
/// UnicodeData.txt), except rare ones. Other characters, and bytes that are no UTF-8, remain. It
/// does not depend on the locale, as all machines have to make the same text.
std::string fold_case(std::string_view text);

}  // namespace tollgate
