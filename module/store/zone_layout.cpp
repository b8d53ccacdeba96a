#include "module/store/zone_layout.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace tollgate {

namespace {

constexpr std::size_t kCacheLine = 64;

/// Bytes for changes: one id in 131,072 shares its slot with another id that changes.
constexpr std::size_t kMostChanges = std::size_t{1} << 20U;

/// Bytes for reports that wait for their acknowledgement: about 600 reports, more than are sent at
/// a time.
constexpr std::size_t kMostReports = std::size_t{128} << 10U;

/// Cuts memory into parts, one after the other.
class Divider {
  public:
    explicit Divider(std::size_t size) : rest_(size) {}

    ZoneLayout::Part cut(std::size_t size) {
        const std::size_t whole = (size + kCacheLine - 1) / kCacheLine * kCacheLine;
        if (whole > rest_) {
            throw std::length_error("the zone is too small");
        }
        const ZoneLayout::Part part{offset_, whole};
        offset_ += whole;
        rest_ -= whole;
        return part;
    }

    /// For a table: this number of bytes, but at least the size of two sets.
    template <typename Table>
    ZoneLayout::Part cut_table(std::size_t size) {
        return cut(std::max(size, Table::memory_for(2)));
    }

    std::size_t rest() const { return rest_ / kCacheLine * kCacheLine; }

  private:
    std::size_t offset_ = 0;
    std::size_t rest_;
};

std::span<std::byte> bytes_of(std::span<std::byte> memory, const ZoneLayout::Part& part) {
    return memory.subspan(part.offset, part.size);
}

std::span<SteadyTime> slots_of(std::span<std::byte> memory, const ZoneLayout::Part& part) {
    return {reinterpret_cast<SteadyTime*>(memory.data() + part.offset),
            part.size / sizeof(SteadyTime)};
}

}  // namespace

ZoneLayout divide_zone(std::size_t size) {
    constexpr std::size_t kSmallKey = KeyCache::SmallTable::place_size();
    constexpr std::size_t kSmallQuota = QuotaCache::SmallTable::place_size();
    Divider divider(size);
    ZoneLayout layout;
    layout.changes = divider.cut(std::bit_floor(std::clamp(size / 128, kCacheLine, kMostChanges)));
    layout.unknown_keys = divider.cut_table<KeyCache::UnknownTable>(size / 128);
    layout.addresses = divider.cut_table<AddressBudgets::Table>(size / 64);
    layout.reports = divider.cut_table<QuotaCache::ReportTable>(std::min(size / 64, kMostReports));
    layout.large_quotas = divider.cut_table<QuotaCache::LargeTable>(size / 64);
    layout.large_keys = divider.cut_table<KeyCache::LargeTable>(size / 32);
    layout.small_quotas = divider.cut_table<QuotaCache::SmallTable>(
        divider.rest() / (kSmallKey + kSmallQuota) * kSmallQuota);
    layout.small_keys = divider.cut_table<KeyCache::SmallTable>(divider.rest());
    return layout;
}

ZoneTables::ZoneTables(std::span<std::byte> memory)
    : ZoneTables(memory, divide_zone(memory.size())) {}

ZoneTables::ZoneTables(std::span<std::byte> memory, const ZoneLayout& layout)
    : keys(bytes_of(memory, layout.small_keys), bytes_of(memory, layout.large_keys),
           bytes_of(memory, layout.unknown_keys)),
      quotas(bytes_of(memory, layout.small_quotas), bytes_of(memory, layout.large_quotas),
             bytes_of(memory, layout.reports)),
      addresses(bytes_of(memory, layout.addresses)),
      changes(slots_of(memory, layout.changes)) {}

}  // namespace tollgate
