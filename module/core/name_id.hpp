#pragma once

#include <zlib.h>

#include <cstdint>
#include <string_view>

namespace tollgate {

/// A name of the configuration as a number that is the same in every process, for keys in shared
/// memory.
inline std::uint32_t name_id(std::string_view name) {
    return static_cast<std::uint32_t>(
        crc32_z(0, reinterpret_cast<const Bytef*>(name.data()), name.size()));
}

}  // namespace tollgate
