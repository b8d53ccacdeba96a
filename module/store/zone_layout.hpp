#pragma once

#include <cstddef>
#include <span>

#include "module/store/address_budgets.hpp"
#include "module/store/changes.hpp"
#include "module/store/key_cache.hpp"
#include "module/store/quota_cache.hpp"

namespace tollgate {

/// How the memory of a zone is divided. It follows from its size alone, so that every process finds
/// the same, wherever it maps the zone; where that or a part's entries change, zones need another
/// name (nginx hands them from one binary to the next).
struct ZoneLayout {
    /// A part of the memory; both are multiples of a cache line.
    struct Part {
        std::size_t offset = 0;
        std::size_t size = 0;
    };

    Part small_keys;
    Part large_keys;
    Part unknown_keys;
    Part small_quotas;
    Part large_quotas;
    Part reports;
    Part addresses;
    Part changes;
};

/// Divides so many bytes: as many small keys as small quotas, and some of the rest. Throws
/// std::length_error where that has no room; 32 KiB are enough.
ZoneLayout divide_zone(std::size_t size);

/// What lies in the memory of a zone, as this process sees it. Memory of zeros is all empty.
struct ZoneTables {
    /// The memory should be aligned to 64 bytes, and must be to 8. Throws as divide_zone.
    explicit ZoneTables(std::span<std::byte> memory);

    KeyCache keys;
    QuotaCache quotas;
    AddressBudgets addresses;
    Changes changes;

  private:
    ZoneTables(std::span<std::byte> memory, const ZoneLayout& layout);
};

}  // namespace tollgate
