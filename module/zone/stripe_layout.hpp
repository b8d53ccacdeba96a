#pragma once

#include <cstddef>
#include <span>

#include "module/zone/address_budgets.hpp"
#include "module/zone/ban_cache.hpp"
#include "module/zone/flight_records.hpp"
#include "module/zone/key_cache.hpp"
#include "module/zone/quota_cache.hpp"
#include "module/zone/slice_records.hpp"

namespace tollgate {

/// The number of stripes of a zone of this size: one for each 512 KiB, rounded down to a power of
/// two; at least 1, at most 16.
std::size_t stripes_of_zone(std::size_t size);

/// The layout of a stripe's memory. It depends only on the size, so that every process finds the
/// same layout, wherever the stripe is mapped. Rename the zones if the layout or an entry changes:
/// nginx passes zones from one binary to the next.
struct StripeLayout {
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
    Part bans;
    Part slices;
    Part flights;
};

/// Divides this number of bytes: as many small keys as small quotas, and a share for each of the
/// others. Throws std::length_error if there is too little room; 32 KiB are enough.
StripeLayout divide_stripe(std::size_t size);

/// The tables in the memory of a stripe. Memory of zeros is empty tables.
struct StripeTables {
    /// The memory must be aligned to 8 bytes, and should be aligned to 64. Throws as divide_stripe.
    explicit StripeTables(std::span<std::byte> memory);

    KeyCache keys;
    QuotaCache quotas;
    AddressBudgets addresses;
    BanCache bans;
    SliceRecords slices;
    FlightRecords flights;

  private:
    StripeTables(std::span<std::byte> memory, const StripeLayout& layout);
};

}  // namespace tollgate
