#pragma once

#include <cstddef>

namespace tollgate {

/// The size of a cache line, in bytes. A line that several processors write moves between them.
constexpr std::size_t kCacheLine = 64;

}  // namespace tollgate
