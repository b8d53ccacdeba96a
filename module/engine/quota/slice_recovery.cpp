#include "module/engine/quota/slice_recovery.hpp"

#include <algorithm>

#include "module/engine/quota/loaded_states.hpp"
#include "module/quota/quota_windows.hpp"

namespace tollgate::engine {

namespace {

/// Returns the units of a record. If their quota was evicted, they are lost.
void recover(const LockedStripe& stripe, SliceRecord& record, RedisStatistics& statistics,
             SteadyTime now) {
    const TableQuota quota = record.quota();
    const QuotaCache::Key key = record.key.key();
    std::array<WindowCount, kMaxWindows> windows{};
    std::ranges::transform(record.windows, windows.begin(),
                           [](std::int64_t number) { return WindowCount{.number = number}; });
    const std::int64_t units = record.take();
    QuotaState state;
    if (const TablePosition place = stripe.quotas().load(key, state)) {
        state.counts.carried = -units;
        owe_to_windows(state, quota, windows, -units);
        if (!stripe.quotas().save(place, key, state, now)) {
            state.counts.lost += units;
        }
        count(statistics, state.counts);
    }
}

}  // namespace

void recover_slices(Zone& zone, std::span<const EndedWorker> ended, const WorkerProcess& worker,
                    SteadyTime now) {
    for (std::size_t i = 0; i < zone.stripes(); ++i) {
        const LockedStripe stripe(zone, StripeNumber{i});
        stripe.slices().for_each([&](SliceRecord& record) {
            const auto killed = std::ranges::find(ended, record.process, &EndedWorker::process);
            if (killed == ended.end()) {
                if (!worker.is_alive(record.process)) {
                    record.take();
                }
                return;
            }
            const auto own =
                std::ranges::find(killed->counts, record.key.redis, &CountsOfRedis::redis);
            if (own != killed->counts.end()) {
                recover(stripe, record, own->statistics, now);
            } else {
                record.take();
            }
        });
    }
}

}  // namespace tollgate::engine
