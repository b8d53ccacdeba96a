#include "module/gateway/slices.hpp"

#include <algorithm>
#include <utility>

#include "module/gateway/loaded_states.hpp"
#include "module/gateway/settlement.hpp"
#include "module/quota/lease.hpp"

namespace tollgate::gateway {

namespace {

/// How often slices are looked for that have ended without a request.
constexpr SteadyTime kSliceInterval = Slice::kLongest / 2;
/// A turn ends this number of slices, and looks at this number of keys: requests wait meanwhile.
constexpr std::size_t kMostEnded = 128;
constexpr std::size_t kMostKeysVisited = 2048;

AcquireRequest request_for(const KnownKey& key) {
    AcquireRequest request;
    request.id = key.record->id;
    request.id_hash = key.id;
    request.api_key = key.key.hash();
    request.quotas = key.quotas;
    request.group = key.record->group;
    if (key.group) {
        request.group_hash = key.group_id;
        request.group_key = key.group_key.hash();
    }
    return request;
}

}  // namespace

Slices::Slices(EngineContext& context, Settlement& settlement)
    : context_(context),
      settlement_(settlement),
      timer_(context.make_timer([this] { end_expired(); })) {}

void Slices::take(KnownKey& key, LoadedStates& states, std::span<const WindowState> shown,
                  const ClockBounds& now) noexcept {
    const std::uint32_t redis = context_.settings().name_hash;
    if (is_shutting_down_ || !key.slice.is_worthwhile(states, *key.quotas, now.steady) ||
        is_recalled(*key.quotas,
                    context_.zone().last_recall(redis, key.id, key.group_id, *key.quotas), now)) {
        return;
    }
    // Without memory for a slice, requests are granted from the lease.
    attempt(context_.log(), [&] {
        if (!key.is_watched) {
            active_.push_back(&key);
            key.is_watched = true;
        }
        if (!std::exchange(is_waiting_, true)) {
            timer_->start(kSliceInterval);
        }
        if (!states.prepare_records(key.slice, context_.worker().process())) {
            return;
        }
        const std::size_t workers =
            std::max<std::size_t>(context_.zone().workers().count(WorkerSet::kMost), 1);
        // With several tables, this worker may have another slice of the lease, for a location with
        // other tables.
        const bool is_shared = workers > 1 || context_.tables().size() > 1;
        key.slice.take(states, *key.quotas, shown, now, {workers, is_shared});
    });
}

void Slices::end(KnownKey& key) noexcept {
    if (key.slice.is_taken()) {
        attempt(context_.log(), [&] { return_slice(key); });
    }
    if (std::exchange(key.is_watched, false)) {
        std::erase(active_, &key);
    }
}

void Slices::end(const IdHash& id) noexcept {
    if (active_.size() > kMostKeysVisited) {
        return;
    }
    for (KnownKey* key : active_) {
        const bool is_of_id =
            is_same_id(key->id, id) || (key->group && is_same_id(key->group_id, id));
        if (is_of_id && key->slice.is_taken()) {
            attempt(context_.log(), [&] { return_slice(*key); });
        }
    }
}

void Slices::return_slice(KnownKey& key) {
    AcquireRequest request = request_for(key);
    request.demand.changed = context_.zone().last_change(key.key.redis, key.key.digest, key.id);
    if (request.group_key != 0) {
        request.demand.changed =
            std::max(request.demand.changed, context_.zone().last_change_of(request.group_key));
    }
    const SteadyTime now = context_.steady_time();
    {
        const LockedStripe stripe(context_.zone(), key.id);
        LoadedStates states(stripe, context_, request);
        key.slice.end(states, *key.quotas, request.demand, now);
        states.save(now);
    }
    settlement_.settle_without_pass(request);
}

void Slices::end_expired() noexcept {
    const SteadyTime now = context_.steady_time();
    std::size_t ended = 0;
    std::size_t visited = 0;
    // From the end to the beginning: the last key takes the place of one that is not watched.
    next_ = next_ == 0 ? active_.size() : std::min(next_, active_.size());
    while (next_ > 0 && ended < kMostEnded && visited < kMostKeysVisited) {
        KnownKey& key = *active_[--next_];
        if (key.slice.is_taken() && key.slice.ends() <= now) {
            attempt(context_.log(), [&] { return_slice(key); });
            ++ended;
        }
        ++visited;
        key.is_watched = key.slice.is_taken();
        if (!key.is_watched) {
            active_[next_] = active_.back();
            active_.pop_back();
        }
    }
    is_waiting_ = !active_.empty();
    if (is_waiting_) {
        timer_->start(next_ == 0 ? kSliceInterval : SteadyTime(1));
    }
}

void Slices::end_all() noexcept {
    for (KnownKey* key : std::exchange(active_, {})) {
        key->is_watched = false;
        end(*key);
    }
}

void Slices::shut_down() noexcept {
    is_shutting_down_ = true;
    end_all();
}

}  // namespace tollgate::gateway
