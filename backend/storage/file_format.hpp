#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

/// SQLite's file formats (https://www.sqlite.org/fileformat2.html), as far as the backend reads
/// them.
namespace petstore {

using Bytes = std::span<const unsigned char>;

/// Reads a big-endian integer. All integers in SQLite's files are big-endian. `bytes` has at least
/// four from `offset`.
inline std::uint32_t read_uint32(Bytes bytes, std::size_t offset) {
    return std::uint32_t{bytes[offset]} << 24U | std::uint32_t{bytes[offset + 1]} << 16U |
           std::uint32_t{bytes[offset + 2]} << 8U | bytes[offset + 3];
}

/// `PRAGMA user_version` of a pet database. The lower 8 bits are the version of the schema. The 23
/// bits above are the transaction number: each transaction of this module increments it modulo
/// 2^23.
struct UserVersion {
    std::uint32_t schema = 0;
    std::uint32_t transaction = 0;

    static constexpr std::uint32_t kTransactionNumbers = 1U << 23U;

    static constexpr UserVersion unpack(std::uint32_t value) {
        return {value & 0xffU, value >> 8U & (kTransactionNumbers - 1)};
    }
    constexpr std::uint32_t pack() const {
        return transaction % kTransactionNumbers << 8U | schema;
    }
    constexpr UserVersion next() const { return {schema, (transaction + 1) % kTransactionNumbers}; }
};

/// The fields of the database header that change from version to version of the file. The first
/// page of a database begins with the header.
struct DatabaseHeader {
    std::uint32_t change_counter = 0;
    std::uint32_t schema_cookie = 0;  ///< `PRAGMA schema_version`
    UserVersion user_version;

    static constexpr std::size_t kSize = 100;  ///< bytes

    /// `page` has at least kSize bytes.
    static DatabaseHeader of(Bytes page) {
        return {read_uint32(page, 24), read_uint32(page, 40),
                UserVersion::unpack(read_uint32(page, 60))};
    }
};

/// What SQLite would replay from a write-ahead log (WAL): the committed transactions whose salts
/// match the WAL's header. Other frames are remains of earlier logs.
struct WalContent {
    bool has_commits = false;
    /// The header in the oldest version of the database's first page in the WAL.
    std::optional<DatabaseHeader> first_header;
    /// Whether one version of the first page in the WAL equals the page given to read_wal().
    bool has_page = false;
};

/// Reads the WAL at `path`; a missing or invalid file has no commits. Reading stops after the
/// transaction with a first page that equals `first_page`. Takes no lock: other processes may
/// append frames meanwhile.
WalContent read_wal(const std::string& path, Bytes first_page);

/// The header of the WAL at `path`: its salts change whenever SQLite restarts the log. Empty if the
/// file is missing or empty.
std::string read_wal_header(const std::string& path);

}  // namespace petstore
