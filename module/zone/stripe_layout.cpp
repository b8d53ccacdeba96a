#include "module/zone/stripe_layout.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "module/zone/named_blocks.hpp"

namespace tollgate {

namespace {

/// Bytes for reports that wait for their acknowledgement, and for what a small place has no room
/// for: about 600 quotas, more than report at a time.
constexpr std::size_t kMostReports = std::size_t{128} << 10U;

/// Bytes for the records of slices: 16 records, for all workers of a small node, and 512. With 16
/// stripes, these are more slices than a node takes in the 100 ms that one lasts.
constexpr std::size_t kLeastSlices = 16 * sizeof(SliceRecord);
constexpr std::size_t kMostSlices = 512 * sizeof(SliceRecord);

/// Bytes for the records of requests in flight: at least 4 ids, and at most 512. With 16 stripes,
/// these are 8,192 ids with `in_flight` that have requests at a time.
constexpr std::size_t kLeastFlights = 4 * sizeof(FlightRecord);
constexpr std::size_t kMostFlights = 512 * sizeof(FlightRecord);

/// Cuts memory into parts, one after the other.
class Divider {
  public:
    explicit Divider(std::size_t size) : rest_(size) {}

    StripeLayout::Part cut(std::size_t size) {
        const std::size_t whole = (size + kCacheLine - 1) / kCacheLine * kCacheLine;
        if (whole > rest_) {
            throw std::length_error("the stripe is too small");
        }
        const StripeLayout::Part part{offset_, whole};
        offset_ += whole;
        rest_ -= whole;
        return part;
    }

    /// For a table: this number of bytes, but at least the size of two sets.
    template <typename Table>
    StripeLayout::Part cut_table(std::size_t size) {
        return cut(std::max(size, Table::memory_for(2)));
    }

    std::size_t rest() const { return rest_ / kCacheLine * kCacheLine; }

  private:
    std::size_t offset_ = 0;
    std::size_t rest_;
};

std::span<std::byte> bytes_of(std::span<std::byte> memory, const StripeLayout::Part& part) {
    return memory.subspan(part.offset, part.size);
}

}  // namespace

std::size_t stripes_of_zone(std::size_t size) {
    constexpr std::size_t kLeast = std::size_t{512} << 10U;
    return std::bit_floor(std::clamp<std::size_t>(size / kLeast, 1, 16));
}

StripeLayout divide_stripe(std::size_t size) {
    // The tables have as many sets for quotas as for keys.
    constexpr std::size_t kSets = 4096;
    constexpr std::size_t kKeys = KeyCache::SmallTable::memory_for(kSets);
    constexpr std::size_t kQuotas = QuotaCache::SmallTable::memory_for(kSets);
    Divider divider(size);
    StripeLayout layout;
    layout.unknown_keys = divider.cut_table<KeyCache::UnknownTable>(size / 128);
    layout.addresses = divider.cut_table<AddressBudgets::Table>(size / 64);
    layout.bans = divider.cut_table<BanCache::Table>(size / 256);
    layout.slices = divider.cut(std::clamp(size / 128, kLeastSlices, kMostSlices));
    layout.flights = divider.cut(std::clamp(size * 3 / 128, kLeastFlights, kMostFlights));
    layout.reports = divider.cut_table<QuotaCache::ReportTable>(std::min(size / 64, kMostReports));
    layout.large_quotas = divider.cut_table<QuotaCache::LargeTable>(size / 48);
    layout.large_keys = divider.cut_table<KeyCache::LargeTable>(size / 64);
    layout.small_quotas =
        divider.cut_table<QuotaCache::SmallTable>(divider.rest() * kQuotas / (kKeys + kQuotas));
    layout.small_keys = divider.cut_table<KeyCache::SmallTable>(divider.rest());
    return layout;
}

StripeTables::StripeTables(std::span<std::byte> memory)
    : StripeTables(memory, divide_stripe(memory.size())) {}

StripeTables::StripeTables(std::span<std::byte> memory, const StripeLayout& layout)
    : keys(bytes_of(memory, layout.small_keys), bytes_of(memory, layout.large_keys),
           bytes_of(memory, layout.unknown_keys)),
      quotas(bytes_of(memory, layout.small_quotas), bytes_of(memory, layout.large_quotas),
             bytes_of(memory, layout.reports)),
      addresses(bytes_of(memory, layout.addresses)),
      bans(bytes_of(memory, layout.bans)),
      slices(bytes_of(memory, layout.slices)),
      flights(bytes_of(memory, layout.flights)) {}

}  // namespace tollgate
