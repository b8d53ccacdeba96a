#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "backend/storage/database_header.hpp"

namespace petstore {

/// What a write-ahead log would do to a database file: only the part that SQLite would replay, the
/// committed transactions of one generation, counts.
struct WalContent {
    bool commits = false;  ///< whether there is anything to replay
    /// The oldest version of the first page in it.
    std::optional<DatabaseHeader> first_header;
    bool holds_page = false;  ///< whether one of its versions of the first page is the given one
};

/// Reads the log at `path`; a missing one has no commits. Reading ends at a version of the first
/// page that equals `first_page`. Takes no lock: SQLite has none on the log itself.
WalContent read_wal(const std::string& path, Bytes first_page);

/// Identifies the generation that the log at `path` holds: its header, empty for an empty log.
std::string wal_generation(const std::string& path);

}  // namespace petstore
