#include "module/engine/quota/slices.hpp"

#include <algorithm>
#include <utility>

#include "module/engine/quota/loaded_states.hpp"
#include "module/quota/lease.hpp"

namespace tollgate::engine {

namespace {

/// How often slices are looked for that have ended without a request.
constexpr SteadyTime kSliceInterval = Slice::kLongest / 2;
/// How often recalls are looked for. The pass that follows a recall waits longer.
constexpr SteadyTime kRecallLookInterval{10};
/// A recall may be noted so much later than it was received.
constexpr SteadyTime kNotedWithin{10};
/// A turn ends this number of slices, and looks at this number of quotas: requests wait meanwhile.
constexpr std::size_t kMostEnded = 128;
constexpr std::size_t kMostSlicesVisited = 2048;

}  // namespace

Slices::Slices(EngineContext& context, UnitKeeper& keeper)
    : context_(context), keeper_(keeper), timer_(context.make_timer([this] { on_timer(); })) {}

void Slices::take(WorkerQuota& quota, LoadedStates& states, std::span<const WindowState> shown,
                  const ClockBounds& now) noexcept {
    const std::uint32_t redis = context_.settings().name_hash;
    if (is_shutting_down_ || !quota.slice.is_worthwhile(states, *quota.quotas, now.steady) ||
        is_recalled(
            *quota.quotas,
            context_.zone().last_recall(redis, quota.id_hash, quota.group_hash, *quota.quotas),
            now)) {
        return;
    }
    // Without memory for a slice, requests are granted from the lease.
    attempt(context_.log(), [&] {
        if (!quota.is_watched) {
            active_.push_back(&quota);
            quota.is_watched = true;
        }
        if (!std::exchange(is_waiting_, true)) {
            expired_looked_ = recalls_looked_ = now.steady;
            timer_->start(kRecallLookInterval);
        }
        if (!states.prepare_records(quota.slice, context_.worker().process())) {
            return;
        }
        const std::size_t workers =
            std::max<std::size_t>(context_.zone().workers().count(WorkerSet::kMost), 1);
        // With several tables, this worker may have another slice of the lease, for a location with
        // other tables.
        const bool is_shared = workers > 1 || context_.tables().size() > 1;
        quota.slice.take(states, *quota.quotas, shown, now, {workers, is_shared});
    });
}

void Slices::end(WorkerQuota& quota) noexcept {
    if (quota.slice.is_taken()) {
        attempt(context_.log(), [&] { return_slice(quota); });
    }
    if (std::exchange(quota.is_watched, false)) {
        std::erase(active_, &quota);
    }
}

void Slices::end(const IdHash& id) noexcept {
    end_those([&](const WorkerQuota& quota) {
        return is_same_id(quota.id_hash, id) ||
               (quota.group_key != 0 && is_same_id(quota.group_hash, id));
    });
}

/// Returns the slices for which this is true, unless there are too many to look for them.
template <typename Ends>
void Slices::end_those(Ends ends) noexcept {
    if (active_.size() > kMostSlicesVisited) {
        return;
    }
    for (WorkerQuota* quota : active_) {
        if (quota->slice.is_taken() && ends(*quota)) {
            attempt(context_.log(), [&] { return_slice(*quota); });
        }
    }
}

/// Returns the slices of what was recalled meanwhile. None is taken of it for a second.
void Slices::end_recalled(SteadyTime now) noexcept {
    const std::uint32_t redis = context_.settings().name_hash;
    const Zone& zone = context_.zone();
    const SteadyTime since = std::exchange(recalls_looked_, now) - kNotedWithin;
    const SteadyTime last = zone.last_recall(redis);
    if (last < since) {
        return;
    }
    end_those([&](const WorkerQuota& quota) {
        return zone.last_recall(redis, quota.id_hash, quota.group_hash, *quota.quotas) >= since;
    });
    settler_->begin_pass(last);
}

void Slices::return_slice(WorkerQuota& quota) {
    AcquireRequest request = quota.request();
    request.demand.changed = request.last_change(context_.zone(), context_.settings().name_hash);
    const SteadyTime now = context_.steady_time();
    {
        const LockedStripe stripe(context_.zone(), quota.id_hash);
        LoadedStates states(stripe, context_, keeper_, request);
        quota.slice.end(states, *quota.quotas, request.demand, now);
        states.save(now);
    }
    settler_->settle_if_left(request);
}

void Slices::on_timer() noexcept {
    const SteadyTime now = context_.steady_time();
    end_recalled(now);
    if (next_ != 0 || now - expired_looked_ >= kSliceInterval) {
        end_expired(now);
    }
    is_waiting_ = !active_.empty();
    if (is_waiting_) {
        timer_->start(next_ == 0 ? kRecallLookInterval : SteadyTime(1));
    }
}

void Slices::end_expired(SteadyTime now) noexcept {
    if (next_ == 0) {
        expired_looked_ = now;
    }
    std::size_t ended = 0;
    std::size_t visited = 0;
    // From the end to the beginning: the last quota takes the place of one that is not watched.
    next_ = next_ == 0 ? active_.size() : std::min(next_, active_.size());
    while (next_ > 0 && ended < kMostEnded && visited < kMostSlicesVisited) {
        WorkerQuota& quota = *active_[--next_];
        if (quota.slice.is_taken() && quota.slice.ends() <= now) {
            attempt(context_.log(), [&] { return_slice(quota); });
            ++ended;
        }
        ++visited;
        quota.is_watched = quota.slice.is_taken();
        if (!quota.is_watched) {
            active_[next_] = active_.back();
            active_.pop_back();
        }
    }
}

void Slices::end_all() noexcept {
    for (WorkerQuota* quota : std::exchange(active_, {})) {
        quota->is_watched = false;
        end(*quota);
    }
}

void Slices::shut_down() noexcept {
    is_shutting_down_ = true;
    end_all();
}

}  // namespace tollgate::engine
