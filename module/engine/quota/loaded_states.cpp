#include "module/engine/quota/loaded_states.hpp"

#include <algorithm>
#include <utility>

#include "module/quota/lease.hpp"
#include "module/quota/owed_units.hpp"

namespace tollgate::engine {

namespace {

void add(Counter& counter, std::int64_t units) noexcept {
    if (units > 0) {
        counter.add(static_cast<std::uint64_t>(units));
    }
}

}  // namespace

void count(RedisStatistics& statistics, const UnitCounts& counts) noexcept {
    add(statistics["lease_units.spent"], counts.spent);
    statistics.taken.add(static_cast<std::uint64_t>(counts.spent + counts.carried));
    add(statistics["lease_units.granted"], counts.refunded);
    add(statistics["lease_units.returned"], counts.returned);
    add(statistics["lease_units.lost"], counts.lost);
    add(statistics["owed_units.noted"], counts.noted);
    add(statistics["owed_units.settled"], counts.settled);
    add(statistics["owed_units.lapsed"], counts.lapsed);
    statistics.owed_taken.add(static_cast<std::uint64_t>(counts.owed_carried));
    add(statistics["lost_calls.noted"], counts.calls_lost);
    add(statistics["lost_calls.taken_back"], counts.calls_taken_back);
    add(statistics["lost_calls.left"], counts.calls_left);
}

LoadedStates::LoadedStates(const LockedStripe& stripe, EngineContext& context, UnitKeeper& keeper,
                           const AcquireRequest& request)
    : stripe_(stripe),
      context_(context),
      keeper_(keeper),
      request_(request),
      redis_(context.settings().name_hash) {
    const Quotas& quotas = *request.quotas;
    if (quotas.size() == 1) {
        Stored& stored = one_stored_.emplace(request, quotas.front(), redis_);
        stored.place = stripe.quotas().load(stored.key, one_, request.place);
        states_ = {&one_, 1};
        stored_ = {&stored, 1};
    } else {
        several_.resize(quotas.size());
        several_stored_.reserve(quotas.size());
        for (std::size_t i = 0; i < quotas.size(); ++i) {
            Stored& stored = several_stored_.emplace_back(request, quotas[i], redis_);
            stored.place = stripe.quotas().load(stored.key, several_[i]);
        }
        states_ = several_;
        stored_ = several_stored_;
    }
    if (request.demand.ban) {
        ban_ = stripe.bans().load(ban_key());
        states_.front().ban = ban_;
    }
}

void LoadedStates::share_among(std::int64_t nodes) noexcept {
    for (QuotaState& state : states_) {
        state.nodes = nodes;
    }
}

bool LoadedStates::prepare_records(Slice& slice, std::uint32_t process) {
    records_.resize(states_.size());
    // Workers have slices of the same id: they begin at different records.
    if (!stripe_.slices().find_free(stored_.front().key.hash() + process, records_)) {
        return false;
    }
    std::vector<std::int64_t*> copies(records_.size());
    std::ranges::transform(records_, copies.begin(),
                           [](SliceRecord* record) { return &record->units; });
    slice.copy_units_to(copies);
    slice_ = &slice;
    process_ = process;
    return true;
}

bool LoadedStates::save(SteadyTime now) noexcept {
    return save(now, WithoutRoom::kWorkerKeeps);
}

bool LoadedStates::save(SteadyTime now, WithoutRoom without_room) noexcept {
    if (request_.demand.ban && states_.front().ban != ban_) {
        ban_ = states_.front().ban;
        stripe_.bans().save(ban_key(), ban_, now);
    }
    bool done = true;
    bool is_any_new = false;
    for (std::size_t i = 0; i < states_.size(); ++i) {
        // A new one may have moved those that come after it.
        const TablePosition place = is_any_new ? TablePosition{} : stored_[i].place;
        const TableQuota& quota = (*request_.quotas)[i];
        keep_lease(states_[i], quota, most_lease(quota));
        bool saved = stripe_.quotas().save(place, stored_[i].key, states_[i], now);
        is_any_new = is_any_new || !stored_[i].place;
        if (!saved && !stored_[i].place) {
            keep_units(i);
        } else if (!saved && !states_[i].report && without_room == WithoutRoom::kWorkerKeeps) {
            // More is owed than a small place has room for.
            keep_units(i);
            saved = stripe_.quotas().save(place, stored_[i].key, states_[i], now);
        }
        const UnitCounts counts = std::exchange(states_[i].counts, {});
        if (saved || !stored_[i].place) {
            count(context_.statistics(), counts);
        }
        done = done && saved;
    }
    if (is_any_new && states_.size() > 1) {
        for (Stored& of : stored_) {
            of.place = stripe_.quotas().find(of.key);
        }
    }
    // After the leases: if the worker is killed before, the units must not return twice.
    const bool has_slice = slice_ != nullptr && slice_->is_taken();
    for (std::size_t i = 0; i < states_.size() && has_slice; ++i) {
        records_[i]->write(process_, stored_[i].key, (*request_.quotas)[i], states_[i],
                           slice_->units(i));
    }
    return done;
}

/// Lost calls are kept in the zone only.
void LoadedStates::keep_units(std::size_t table) noexcept {
    QuotaState& state = states_[table];
    drop_lost_calls(state);
    const TableQuota& quota = (*request_.quotas)[table];
    if (is_held(state) && !keeper_.keep(request_, quota, state)) {
        count(context_.statistics(), lost_with(state, quota));
        state.lease = 0;
        for (QuotaState::Window& window : state.windows) {
            window.owed = window.owed_previous = 0;
        }
        state.owes_refund = false;
    }
}

void LoadedStates::save_spent(SteadyTime now) noexcept {
    // The worker keeps units of a state without a place: see keep_units.
    if (std::ranges::any_of(stored_, [](const Stored& of) { return !of.place; })) {
        save(now);
        return;
    }
    for (std::size_t i = 0; i < states_.size(); ++i) {
        stripe_.quotas().save_spent(stored_[i].place, stored_[i].key, states_[i], now);
        const std::int64_t spent = std::exchange(states_[i].counts.spent, 0);
        context_.statistics()["lease_units.spent"].add(static_cast<std::uint64_t>(spent));
        context_.statistics().taken.add(static_cast<std::uint64_t>(spent));
    }
}

bool LoadedStates::save_all_or_none(SteadyTime now) noexcept {
    if (std::ranges::any_of(stored_, [](const Stored& of) { return !of.place; })) {
        // First, each gets a place. Later ones may take the place of earlier ones, which hold
        // nothing.
        for (const Stored& of : stored_) {
            if (!of.place && !stripe_.quotas().save(of.key, {}, now)) {
                return false;
            }
        }
        for (Stored& of : stored_) {
            of.place = stripe_.quotas().find(of.key);
            if (!of.place) {
                return false;
            }
        }
    }
    return save(now, WithoutRoom::kNothingChanges);
}

}  // namespace tollgate::engine
