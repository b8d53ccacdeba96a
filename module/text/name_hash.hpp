#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "module/text/parse_error.hpp"

namespace tollgate {

/// The hash of a name in the configuration. It is the same in every process, for keys in shared
/// memory.
inline std::uint32_t name_hash(std::string_view name) noexcept {
    return static_cast<std::uint32_t>(
        crc32_z(0, reinterpret_cast<const Bytef*>(name.data()), name.size()));
}

/// Throws ParseError if `directive` cannot define `name` in addition to `other`: a duplicate, or
/// another name with the same hash.
inline void check_names(std::string_view directive, std::string_view name, std::string_view other) {
    const std::string text(directive);
    if (name == other) {
        throw ParseError("duplicate " + text + " " + in_quotes(name));
    }
    if (name_hash(name) == name_hash(other)) {
        throw ParseError(text + " " + in_quotes(other) + " and " + in_quotes(name) +
                         " have the same CRC-32, by which shared memory knows them: rename one");
    }
}

}  // namespace tollgate
