#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "module/zone/named_blocks.hpp"
#include "module/zone/quota_cache.hpp"

namespace tollgate {

/// What is left of a worker's slice in one table (see Slice). It is in memory that the workers
/// share: the successor of a worker that is killed returns the units.
struct alignas(kCacheLine) SliceRecord {
    std::int64_t units;                             ///< 0: the record is free. See SliceRecords
    std::array<std::int64_t, kMaxWindows> windows;  ///< the numbers of those that count the units
    std::uint32_t process;                          ///< of the worker
    std::uint32_t history;  ///< TableQuota::history: units of a day that has ended count there
    QuotaCache::StoredKey key;

    std::int64_t left() noexcept { return std::atomic_ref(units).load(std::memory_order_relaxed); }

    /// `units` is written last: a worker may be killed between any two statements.
    void write(std::uint32_t worker, const QuotaCache::Key& whose, const TableQuota& quota,
               const QuotaState& state, std::int64_t slice) noexcept;
    /// The quota of the units, without its name and its limits.
    TableQuota quota() const;
    /// Makes the record free. Returns the units that it had.
    std::int64_t take() noexcept {
        return std::atomic_ref(units).exchange(0, std::memory_order_relaxed);
    }
};

/// The records of a stripe. Memory of zeros is free records. The caller holds the lock of the
/// stripe. Without it, the worker that wrote a record reduces SliceRecord::units; when they are 0,
/// it forgets the record.
class SliceRecords {
  public:
    /// Uses memory that is aligned for SliceRecord.
    explicit SliceRecords(std::span<std::byte> memory);

    /// Finds so many free records, and searches a bounded number from `hash` on. False if it finds
    /// too few.
    bool find_free(std::uint64_t hash, std::span<SliceRecord*> found) const;

    /// Calls `visit` with each record that is not free.
    template <typename Visit>
    void for_each(Visit visit) const {
        for (SliceRecord& record : records_) {
            if (record.left() != 0) {
                visit(record);
            }
        }
    }

    std::size_t size() const { return records_.size(); }

  private:
    std::span<SliceRecord> records_;
};

}  // namespace tollgate
