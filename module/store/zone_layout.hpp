#pragma once

#include <cstddef>
#include <span>

#include "module/store/address_budgets.hpp"
#include "module/store/changes.hpp"
#include "module/store/key_cache.hpp"
#include "module/store/quota_cache.hpp"

namespace tollgate {

/// The layout of a zone's memory. It depends only on the size, so that every process finds the same
/// layout, wherever the zone is mapped. Rename the zone if the layout or an entry changes: nginx
/// passes zones from one binary to the next.
struct ZoneLayout {
    /// A part of the memory; offset and size are multiples of a cache line.
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

/// Divides this number of bytes: as many small keys as small quotas, and a share for each of the
/// others. Throws std::length_error if there is too little room; 32 KiB are enough.
ZoneLayout divide_zone(std::size_t size);

/// The tables in the memory of a zone. Memory of zeros is empty tables.
struct ZoneTables {
    /// The memory must be aligned to 8 bytes, and should be aligned to 64. Throws as divide_zone.
    explicit ZoneTables(std::span<std::byte> memory);

    KeyCache keys;
    QuotaCache quotas;
    AddressBudgets addresses;
    Changes changes;

  private:
    ZoneTables(std::span<std::byte> memory, const ZoneLayout& layout);
};

}  // namespace tollgate
