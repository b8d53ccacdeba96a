#pragma once

#include <string_view>

namespace tollgate {

/// The version of Tollgate; CMakeLists.txt reads it here.
constexpr std::string_view kVersion = "0.1.0";

}  // namespace tollgate
