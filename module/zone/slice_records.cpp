#include "module/zone/slice_records.hpp"

#include <algorithm>
#include <stdexcept>
#include <type_traits>

namespace tollgate {

static_assert(std::is_trivially_copyable_v<SliceRecord> && sizeof(SliceRecord) == 2 * kCacheLine);

void SliceRecord::write(std::uint32_t worker, const QuotaCache::Key& whose, const TableQuota& quota,
                        const QuotaState& state, std::int64_t slice) noexcept {
    process = worker;
    history = static_cast<std::uint32_t>(quota.history.count());
    key = QuotaCache::StoredKey(whose);
    std::ranges::transform(state.windows, windows.begin(),
                           [](const QuotaState::Window& window) { return window.counted.number; });
    std::atomic_signal_fence(std::memory_order_seq_cst);
    std::atomic_ref(units).store(slice, std::memory_order_relaxed);
}

TableQuota SliceRecord::quota() const {
    TableQuota of_key = key.quota("");
    of_key.history = std::chrono::days(history);
    return of_key;
}

SliceRecords::SliceRecords(std::span<std::byte> memory)
    : records_(reinterpret_cast<SliceRecord*>(memory.data()), memory.size() / sizeof(SliceRecord)) {
    if (records_.empty()) {
        throw std::length_error("no memory for one slice");
    }
}

bool SliceRecords::find_free(std::uint64_t hash, std::span<SliceRecord*> found) const {
    constexpr std::size_t kMostSearched = 32;
    const std::size_t searched = std::min(records_.size(), kMostSearched);
    auto next = found.begin();
    for (std::size_t i = 0; i < searched && next != found.end(); ++i) {
        SliceRecord& record = records_[(hash + i) % records_.size()];
        if (record.left() == 0) {
            *next++ = &record;
        }
    }
    return next == found.end();
}

}  // namespace tollgate
