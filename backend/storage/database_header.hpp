#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace petstore {

using Bytes = std::span<const unsigned char>;

/// The integers of SQLite's file formats are big-endian. `bytes` has at least four from `offset`.
inline std::uint32_t read_uint32(Bytes bytes, std::size_t offset) {
    return std::uint32_t{bytes[offset]} << 24U | std::uint32_t{bytes[offset + 1]} << 16U |
           std::uint32_t{bytes[offset + 2]} << 8U | bytes[offset + 3];
}

/// `PRAGMA user_version` of a pet database: the version of the schema in the lower 8 bits, and in
/// the 23 bits above a number that each transaction of this module increments (modulo 2^23).
struct UserVersion {
    std::uint32_t schema = 0;
    std::uint32_t batch = 0;

    static constexpr std::uint32_t kBatches = 1U << 23U;

    static constexpr UserVersion unpack(std::uint32_t value) {
        return {value & 0xffU, value >> 8U & (kBatches - 1)};
    }
    constexpr std::uint32_t pack() const { return batch % kBatches << 8U | schema; }
    constexpr UserVersion next() const { return {schema, (batch + 1) % kBatches}; }
};

/// What the first page of a database says about the file
/// (https://www.sqlite.org/fileformat2.html#the_database_header).
struct DatabaseHeader {
    std::uint32_t change_counter = 0;
    std::uint32_t schema_cookie = 0;  ///< `PRAGMA schema_version`
    UserVersion user_version;

    static constexpr std::size_t kSize = 100;

    /// `page` has at least kSize bytes.
    static DatabaseHeader of(Bytes page) {
        return {read_uint32(page, 24), read_uint32(page, 40),
                UserVersion::unpack(read_uint32(page, 60))};
    }
};

}  // namespace petstore
