#include "module/engine/quota/unstored_units.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "module/quota/lease.hpp"
#include "module/quota/node_bucket.hpp"
#include "module/quota/quota_windows.hpp"
#include "module/quota/unstored_state.hpp"

namespace tollgate::engine {

namespace {

std::shared_ptr<const Quotas> quotas_with(const AcquireRequest& request, const TableQuota& quota) {
    return request.quotas->size() == 1 ? request.quotas
                                       : std::make_shared<const Quotas>(Quotas{quota});
}

}  // namespace

UnstoredUnits::Entry::Entry(const AcquireRequest& of, const TableQuota& quota)
    : key(of.place_of(quota, 0)), id(of.id), group(of.group) {
    request.id = id;
    request.id_hash = of.id_hash;
    request.api_key = of.api_key;
    request.quotas = quotas_with(of, quota);
    request.group = group;
    request.group_hash = of.group_hash;
    request.group_key = of.group_key;
}

UnstoredUnits::~UnstoredUnits() {
    for (const auto& entry : entries_) {
        const TableQuota& quota = entry->request.quotas->front();
        QuotaState state;
        add_unstored(state, quota, entry->state);
        count(statistics_, state.counts);
        count(statistics_, lost_with(state, quota));
    }
}

/// nullptr if there are too many, or if memory is short.
UnstoredUnits::Entry* UnstoredUnits::entry_for(const AcquireRequest& request,
                                               const TableQuota& quota) noexcept {
    const QuotaCache::Key key = request.place_of(quota, 0);
    const auto known =
        std::ranges::find_if(entries_, [&](const auto& entry) { return entry->key.is(key); });
    if (known != entries_.end()) {
        return known->get();
    }
    if (entries_.size() == kMost) {
        return nullptr;
    }
    try {
        return entries_.emplace_back(std::make_unique<Entry>(request, quota)).get();
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

bool UnstoredUnits::keep(const AcquireRequest& request, const TableQuota& quota,
                         QuotaState& state) noexcept {
    Entry* const entry = entry_for(request, quota);
    if (entry == nullptr) {
        return false;
    }
    const QuotaState taken = take_unstored(state, quota);
    QuotaState all;
    add_unstored(all, quota, entry->state);
    add_unstored(all, quota, taken);
    entry->state = take_unstored(all, quota);
    count(statistics_, all.counts);
    return true;
}

void UnstoredUnits::store(EngineContext& context) {
    for (std::size_t i = 0; i < entries_.size();) {
        if (store(*entries_[i], context)) {
            std::swap(entries_[i], entries_.back());
            entries_.pop_back();
        } else {
            ++i;
        }
    }
}

/// Whether the entry is needed no more.
bool UnstoredUnits::store(Entry& entry, EngineContext& context) {
    const AcquireRequest& request = entry.request;
    const TableQuota& quota = request.quotas->front();
    if (!owes(entry.state)) {
        return true;
    }
    const ClockBounds now =
        context.clock_bounds(context.slot_of(request.slot_text()), context.clock().steady());
    const LockedStripe stripe(context.zone(), request.id_hash);
    LoadedStates states(stripe, context, *this, request);
    QuotaState& state = std::span<QuotaState>(states).front();
    refill_owed(entry.state, quota, now);
    refill_owed(state, quota, now);
    add_unstored(state, quota, entry.state);
    return states.save_all_or_none(now.steady) || drop_ended(entry, now);
}

/// Drops the units if all their windows have ended. A bucket takes nothing back then: it is full.
bool UnstoredUnits::drop_ended(const Entry& entry, const ClockBounds& now) {
    const TableQuota& quota = entry.request.quotas->front();
    QuotaState state;
    add_unstored(state, quota, entry.state);
    roll_windows(state, quota, now.earliest);
    for (std::size_t i = 0; i < quota.rates.size(); ++i) {
        const QuotaState::Window& window = state.windows[i];
        if (quota.rates[i].is_bucket() ? window.owed > 0
                                       : window.owed != 0 || window.owed_previous != 0) {
            return false;
        }
    }
    count(statistics_, state.counts);
    return true;
}

}  // namespace tollgate::engine
