#pragma once

#include <cstdint>
#include <string_view>

namespace tollgate {

/// The weight of a media type in the value of `Accept` (RFC 9110 section 12.5.1), in thousandths: 0
/// if it is not listed, or not accepted. Ranges such as `*/*` stand for no type. An invalid weight
/// counts as 1000. If the type is listed several times, the largest weight counts.
std::int64_t accept_weight(std::string_view accept, std::string_view type);

}  // namespace tollgate
