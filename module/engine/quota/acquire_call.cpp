#include "module/engine/quota/acquire_call.hpp"

#include <algorithm>
#include <utility>

#include "module/engine/quota/loaded_states.hpp"
#include "module/quota/acquire_reply.hpp"
#include "module/quota/lease.hpp"
#include "module/quota/plain_acquire.hpp"
#include "module/quota/quota_windows.hpp"
#include "module/quota/shown_windows.hpp"
#include "module/redis/topology/slot_tag.hpp"

namespace tollgate::engine {

AcquireCall::AcquireCall(AcquireBatcher& batcher, redis::Slot slot, std::size_t batches)
    : batcher_(batcher), context_(batcher.context_), slot_(slot), sent_(context_.clock().steady()) {
    items_.reserve(batches);
    acquires_.reserve(batches);
}

void AcquireCall::prepare(std::span<Batch* const> batches) {
    idle_.reserve(batches.size());
    deadline_ = context_.redis_clock(slot_).deadline(sent_, context_.settings().timeout);
    for (Batch* batch : batches) {
        if (!add(*batch)) {
            idle_.push_back(batch);
        }
    }
}

void AcquireCall::finish_idle() noexcept {
    for (Batch* batch : std::exchange(idle_, {})) {
        batcher_.finish(*batch);
    }
}

redis::Call AcquireCall::call() {
    const auto& settings = context_.settings();
    std::string tag;
    if (settings.is_cluster && redis::need_lists(acquires_)) {
        tag = redis::slot_tag(slot_);
    }
    if (std::ranges::any_of(acquires_, [](const Acquire& acquire) { return acquire.lease > 0; })) {
        number_ = context_.zone().number_call();
    }
    return redis::acquire_call(acquires_, settings.keys,
                               {.node = batcher_.node_,
                                .deadline = deadline_,
                                .sent = std::chrono::floor<SteadyTime>(sent_),
                                .call = number_,
                                .terms = &batcher_.terms_,
                                .tag = std::move(tag)});
}

/// Adds a batch that needs nothing of the states to the call. False if the batch has no waiter:
/// then there is nothing to ask.
bool AcquireCall::add_plain(Batch& batch) {
    batch.is_queued = false;
    if (batch.waiting.empty()) {
        return false;
    }
    Acquire& acquire = acquires_.emplace_back();
    Item& item = items_.emplace_back(batch, acquire);
    item.asking.append(batch.waiting);
    acquire.id = batch.request.id;
    acquire.group = batch.request.group;
    acquire.quotas = batch.request.quotas;
    acquire.demand = batch.request.demand;
    acquire.count = static_cast<std::int64_t>(item.asking.size());
    batch.is_under_way = true;
    return true;
}

/// False if there is nothing to ask and nothing to report.
bool AcquireCall::add(Batch& batch) {
    if (batch.request.is_plain) {
        return add_plain(batch);
    }
    batch.request.demand.changed =
        std::max(batch.request.demand.changed,
                 context_.zone().last_change(context_.settings().name_hash, batch.request.id_hash));
    if (batch.request.group_key != 0) {
        batch.request.demand.changed = std::max(
            batch.request.demand.changed, context_.zone().last_change_of(batch.request.group_key));
    }
    const AcquireRequest& request = batch.request;
    const Quotas& quotas = *request.quotas;
    Acquire& acquire = acquires_.emplace_back();
    Item& item = items_.emplace_back(batch, acquire);
    item.asking.append(batch.waiting);
    const auto count = static_cast<std::int64_t>(item.asking.size());
    batch.is_queued = false;
    const ClockBounds now = context_.clock_bounds(slot_, context_.clock().steady());
    const bool returns_leases =
        batcher_.settler_->returns_leases(quotas) || (request.returns_lease && count == 0);
    const bool renews_lease =
        std::exchange(batch.request.renews_lease, false) && !returns_leases && count == 0;
    const bool is_recalled = tollgate::is_recalled(
        quotas,
        context_.zone().last_recall(context_.settings().name_hash, request.id_hash,
                                    request.id_of_group(), quotas),
        now);
    const LockedStripe stripe(context_.zone(), request.id_hash);
    std::uint64_t* last_report = &stripe.shared().last_report;
    const auto skip = [&] {
        items_.pop_back();
        acquires_.pop_back();
        return false;
    };
    for (;;) {
        LoadedStates states(stripe, context_, batcher_.keeper_, request);
        if (returns_leases) {
            return_leases(states, quotas);
        }
        if (count > 0) {
            note_arrivals(states, quotas, request.demand, count, now.steady);
        }
        std::int64_t lease = 0;
        const bool names_calls =
            std::ranges::any_of(std::span<const QuotaState>(states),
                                [](const QuotaState& state) { return !state.lost_calls.empty(); });
        if (!is_recalled && !names_calls) {
            lease = renews_lease ? renewal_size(states, quotas, request.demand, now)
                                 : lease_size(states, quotas, request.demand.cost, count, now);
        }
        if (renews_lease && lease == 0) {
            return skip();
        }
        if (std::ranges::any_of(quotas, &TableQuota::has_bucket) &&
            std::ranges::any_of(std::span<const QuotaState>(states), owes)) {
            states.share_among(context_.nodes());  // Its share of a bucket refilled.
        }
        acquire = tollgate::prepare(states, quotas, request.demand, count, lease, now, last_report);
        acquire.id = request.id;
        acquire.group = request.group;
        acquire.quotas = request.quotas;
        const bool is_needed =
            count > 0 || lease > 0 || acquire.strikes > 0 || !acquire.adjustments.empty();
        const bool saved = states.save(now.steady);
        if (is_needed && (saved || last_report == nullptr)) {
            // A lease needs room in the zone.
            acquire.lease = saved && !returns_leases ? acquire.lease : 0;
            batch.is_under_way = true;
            return true;
        }
        if (!is_needed) {
            return skip();
        }
        // The zone has no room for a report: the units stay owed and are reported later. A table
        // that has a place is saved already, without what the acquire takes.
        tollgate::restore(states, quotas, acquire, AcquireFailure::kNotApplied);
        states.save(now.steady);
        last_report = nullptr;
    }
}

void AcquireCall::on_result(redis::ReplyValues values) noexcept {
    bool is_reply = true;
    const bool done = attempt(context_.log(), [&] {
        auto results =
            redis::read_acquired(values, acquires_, std::exchange(batcher_.results_, {}));
        is_reply = results.has_value();
        if (!is_reply) {
            return;
        }
        if (results->late) {
            observe(*results);
        } else {
            apply(*results);
        }
        batcher_.results_ = *std::move(results);
    });
    if (!is_reply) {
        context_.report_error(slot_, "unexpected reply");
    }
    if (!done || !is_reply) {
        fail_all(AcquireFailure::kUnknown);
    } else if (!items_.empty()) {
        send_again(true);
    }
}

bool AcquireCall::on_timeout() noexcept {
    const bool done = attempt(context_.log(), [&] {
        for (Item& item : items_) {
            item.copy = std::make_unique<Batch>(item.batch->request, slot_);
        }
    });
    if (!done) {
        fail_all(AcquireFailure::kUnknown);
        return false;
    }
    has_timed_out_ = true;
    for (Item& item : items_) {
        Batch& batch = *std::exchange(item.batch, item.copy.get());
        item.acquire->id = item.batch->id;
        item.acquire->group = item.batch->name_of_group;
        item.asking.drain(
            [](AcquireWaiter& waiter) { waiter.on_unavailable(AcquireFailure::kUnknown); });
        batcher_.finish(batch);
    }
    return true;
}

/// Notes Redis's clock. Another server may be in use since the call has timed out.
void AcquireCall::observe(const redis::AcquireResults& results) {
    if (!has_timed_out_) {
        context_.observe_time(slot_, sent_, context_.clock().steady(), results.now);
    }
}

void AcquireCall::apply(const redis::AcquireResults& results) {
    observe(results);
    const SteadyTime received = context_.steady_time();
    for (std::size_t i = 0; i < items_.size(); ++i) {
        const auto* acquired = std::get_if<Acquired>(&results.of_ids[i]);
        if (acquired == nullptr) {
            continue;
        }
        if (has_timed_out_) {
            apply_late(items_[i], *acquired, received);
        } else {
            apply_to_zone(items_[i], *acquired, received);
        }
    }
    auto items = std::exchange(items_, {});
    for (std::size_t i = 0; i < items.size(); ++i) {
        items[i].batch->was_late = false;
        if (const auto* acquired = std::get_if<Acquired>(&results.of_ids[i])) {
            decide_waiters(items[i], *acquired, results.now);
            finish(items[i]);
        } else {
            auto error = std::get<std::string_view>(results.of_ids[i]);
            const bool is_counted = error.starts_with(redis::kCounted);
            if (is_counted) {
                error.remove_prefix(redis::kCounted.size());
            }
            context_.statistics()["errors"].add();
            context_.report_error(slot_, error);
            fail(items[i], is_counted || error == redis::kOutOfRange ? AcquireFailure::kUnknown
                                                                     : AcquireFailure::kNotApplied);
        }
    }
}

/// Stores the result of a batch of which most are, that of a rare key: all requests are granted and
/// still wait, and the id holds nothing. False if it is none of these.
bool AcquireCall::count_in_place(Item& item, const Acquired& acquired, SteadyTime now) {
    const AcquireRequest& request = item.batch->request;
    const Quotas& quotas = *request.quotas;
    if (!item.is_plain || quotas.size() != 1 || acquired.granted != item.acquire->count ||
        item.asking.size() != static_cast<std::size_t>(acquired.granted) ||
        !acquired.leased_elsewhere.empty()) {
        return false;
    }
    const TableQuota& quota = quotas.front();
    const Cost& cost = request.demand.cost;
    item.granted = windows_of(acquired.windows, quotas, acquired.now, cost);
    const PlainReply reply{.windows = acquired.windows,
                           .now = acquired.now,
                           .sent = std::chrono::floor<SteadyTime>(sent_),
                           .units = acquired.granted * cost.of(0).units,
                           .constant = lease_horizon(quota)};
    const QuotaCache::Key key = request.place_of(quota, context_.settings().name_hash);
    const LockedStripe stripe(context_.zone(), request.id_hash);
    item.is_applied = stripe.quotas().count_in_place(key, reply, now, request.place);
    return item.is_applied;
}

/// Stores the result of one batch.
void AcquireCall::apply_to_zone(Item& item, const Acquired& acquired, SteadyTime now) {
    if (count_in_place(item, acquired, now)) {
        return;
    }
    const AcquireRequest& request = item.batch->request;
    const Quotas& quotas = *request.quotas;
    const Cost& cost = request.demand.cost;
    const bool returns_leases = batcher_.settler_->returns_leases(quotas);  // locks the node
    const ClockBounds bounds = context_.clock_bounds(slot_, context_.clock().steady());
    const LockedStripe stripe(context_.zone(), request.id_hash);
    LoadedStates states(stripe, context_, batcher_.keeper_, request);
    if (item.is_plain) {
        note_plain(states, quotas, *item.acquire, std::chrono::floor<SteadyTime>(sent_));
    }
    apply_reply(states, quotas, *item.acquire, acquired, bounds);
    // Requests that were granted but have ended meanwhile do not need their units.
    const std::int64_t present =
        std::min(acquired.granted, static_cast<std::int64_t>(item.asking.size()));
    const std::int64_t unused = acquired.granted - present;
    if (unused > 0) {
        keep_unused(states, quotas, acquired, unused, cost);
    }
    const bool holds = std::ranges::any_of(std::span<const QuotaState>(states), is_held);
    const ClockBounds at_decision{now, acquired.now, acquired.now, acquired.now};
    if (present > 0) {
        item.granted = holds ? windows_of(states, quotas, at_decision, cost, false)
                             : windows_of(acquired.windows, quotas, acquired.now, cost);
    }
    if (acquired.granted < item.acquire->count) {
        item.refused = refused_windows(states, quotas, acquired, at_decision, cost);
    }
    states.save(now);
    note_lease(request, acquired.lease + unused * cost.steps());
    // Before it exits, the node's last worker settles everything: a lease that this reply granted,
    // and owed units that were not in this call's report.
    if (holds && returns_leases) {
        item.batch->settle_again = true;
        item.batch->request.is_plain = false;
    }
    item.is_applied = true;
}

/// Counts leased steps (see Cost) in the statistics.
void AcquireCall::note_lease(const AcquireRequest& request, std::int64_t steps) noexcept {
    if (steps > 0) {
        const auto units = request.demand.cost.units_of_step_in_all(request.quotas->size());
        context_.statistics().note_lease(static_cast<std::uint64_t>(steps * units));
    }
}

/// Stores the result of one batch of a call that has timed out.
void AcquireCall::apply_late(Item& item, const Acquired& acquired, SteadyTime now) {
    const AcquireRequest& request = item.batch->request;
    const Quotas& quotas = *request.quotas;
    {
        const LockedStripe stripe(context_.zone(), request.id_hash);
        LoadedStates states(stripe, context_, batcher_.keeper_, request);
        apply_late_reply(states, quotas, *item.acquire, acquired);
        states.save(now);
    }
    item.is_applied = true;
    note_lease(request, acquired.lease + acquired.granted * request.demand.cost.steps());
    batcher_.settler_->settle_if_left(request);
}

/// The call of the item's batch has ended.
void AcquireCall::finish(Item& item) noexcept {
    if (!item.copy) {
        batcher_.finish(*item.batch);
    }
}

/// Grants the requests that came first. Each response shows the windows as they were after its own
/// request.
void AcquireCall::decide_waiters(Item& item, const Acquired& acquired, ExactInstant now) noexcept {
    const AcquireRequest& request = item.batch->request;
    const std::int64_t present =
        std::min(acquired.granted, static_cast<std::int64_t>(item.asking.size()));
    std::int64_t index = 0;
    item.asking.drain([&](AcquireWaiter& waiter) {
        const bool granted = index < present;
        const bool limited = !granted && index < present + acquired.limited;
        Decision decision{.answer = granted   ? LocalAnswer::kGranted
                                    : limited ? LocalAnswer::kLimited
                                              : LocalAnswer::kBanned,
                          .windows = {},
                          .now = now,
                          .banned_until = acquired.banned_until};
        const bool done = attempt(context_.log(),
                                  [&] {
                                      if (index + 1 == present) {
                                          decision.windows = std::move(item.granted);
                                      } else {
                                          decision.windows = granted ? item.granted : item.refused;
                                      }
                                      if (granted && request.demand.cost.settles()) {
                                          decision.counting = acquired.windows;
                                      }
                                  }) &&
                          item.is_applied;
        if (granted) {
            add_later_requests(decision.windows, *request.quotas, request.demand.cost,
                               present - 1 - index);
        }
        ++index;
        done ? waiter.on_decision(std::move(decision))
             : waiter.on_unavailable(AcquireFailure::kUnknown);
    });
}

/// This Redis is a node of a cluster: it decides one id in a call.
bool AcquireCall::is_expected(std::string_view error) const noexcept {
    return error.starts_with("CROSSSLOT") && items_.size() > 1;
}

void AcquireCall::on_refusal(std::string_view error) noexcept {
    if (is_expected(error)) {
        batcher_.most_batches_ = 1;
        send_again(false);
    } else {
        fail_all(AcquireFailure::kNotApplied);
    }
}

/// Redis decided nothing: queues the batches again. A batch that was late twice fails.
void AcquireCall::send_again(bool was_late) noexcept {
    auto items = std::exchange(items_, {});
    for (Item& item : items) {
        Batch& batch = *item.batch;
        if (item.copy) {
            restore(item, AcquireFailure::kNotApplied);
            continue;
        }
        if (was_late && std::exchange(batch.was_late, true)) {
            batch.was_late = false;
            fail(item, AcquireFailure::kNotApplied);
            continue;
        }
        restore(item, AcquireFailure::kNotApplied);
        batch.request.is_plain = false;  // The states may have changed.
        batch.is_under_way = false;
        item.asking.append(batch.waiting);
        batch.waiting.append(item.asking);
        batcher_.enqueue_or_fail(batch);
    }
}

/// Redis executes the call until then at most: see RedisClock::deadline.
SteadyTime AcquireCall::executed_until() const {
    constexpr SteadyTime kRounded{2};
    return std::chrono::floor<SteadyTime>(sent_) + 2 * context_.settings().timeout + kRounded;
}

void AcquireCall::restore(const Item& item, AcquireFailure failure) noexcept {
    if (item.is_plain) {
        return;
    }
    attempt(context_.log(), [&] {
        const AcquireRequest& request = item.batch->request;
        const LockedStripe stripe(context_.zone(), request.id_hash);
        LoadedStates states(stripe, context_, batcher_.keeper_, request);
        tollgate::restore(states, *request.quotas, *item.acquire, failure);
        if (failure == AcquireFailure::kUnknown && item.acquire->lease > 0 && !item.is_applied) {
            note_lost_call(states, number_, executed_until());
        }
        states.save(context_.steady_time());
    });
}

void AcquireCall::fail(Item& item, AcquireFailure failure) noexcept {
    restore(item, failure);
    item.asking.drain([&](AcquireWaiter& waiter) { waiter.on_unavailable(failure); });
    finish(item);
}

void AcquireCall::fail_all(AcquireFailure failure) noexcept {
    auto items = std::exchange(items_, {});
    std::ranges::for_each(items, [&](Item& item) { fail(item, failure); });
}

}  // namespace tollgate::engine
