#include "module/engine/quota/acquire_batcher.hpp"

#include <algorithm>
#include <utility>

#include "module/engine/quota/acquire_call.hpp"
#include "module/quota/lease.hpp"

namespace tollgate::engine {

AcquireBatcher::AcquireBatcher(EngineContext& context, UnitKeeper& keeper)
    : context_(context),
      keeper_(keeper),
      node_(context.zone().node_name()),
      end_of_turn_(context.make_timer([this] { flush(); })),
      renewal_tick_(context.make_timer([this] { flush(); })) {
    spare_.reserve(kMostSpare);
}

AcquireBatcher::Key AcquireBatcher::key_of(const AcquireRequest& request) {
    const Demand& demand = request.demand;
    return {request.id_hash, request.quotas.get(),   demand.cost,
            demand.settles,  demand.refusals_strike, demand.ban.has_value()};
}

AcquireBatcher::Group& AcquireBatcher::group_of(const AcquireRequest& request) {
    const Key key = key_of(request);
    if (const auto known = groups_.find(key); known != groups_.end()) {
        return known->second;
    }
    const redis::Slot slot = context_.slot_of(request.slot_text());
    if (spare_.empty()) {
        return groups_.try_emplace(key, request, slot).first->second;
    }
    auto node = std::move(spare_.back());
    spare_.pop_back();
    node.key() = key;
    node.mapped().begin(request, slot);
    return groups_.insert(std::move(node)).position->second;
}

/// Nobody waits for the group any more.
void AcquireBatcher::end(Group& group) noexcept {
    auto node = groups_.extract(key_of(group.request));
    if (spare_.size() < kMostSpare) {
        node.mapped().request.quotas = nullptr;
        spare_.push_back(std::move(node));
    }
}

void AcquireBatcher::submit(AcquireWaiter& waiter, const AcquireRequest& request) {
    Group& group = group_of(request);
    enqueue(group);
    group.request.is_plain = group.request.is_plain && request.is_plain;
    group.request.demand.changed = std::max(group.request.demand.changed, request.demand.changed);
    group.waiting.push(waiter);
}

void AcquireBatcher::settle(const AcquireRequest& request) {
    Group& group = group_of(request);
    group.request.is_plain = false;
    if (request.returns_lease) {
        group.request.returns_lease = true;
        group.settle_again = group.is_under_way;
    }
    enqueue(group);
}

void AcquireBatcher::enqueue(Group& group) {
    if (group.is_queued || group.is_under_way) {
        return;
    }
    queued_.push_back(&group);
    drop_renewal(group);
    group.is_queued = true;
    end_of_turn_->post();
}

void AcquireBatcher::renew_lease(const AcquireRequest& request) noexcept {
    attempt(context_.log(), [&] {
        // A group is not made without a place for it.
        if (renewals_.size() == renewals_.capacity()) {
            renewals_.reserve(2 * renewals_.size() + kMostGroups);
        }
        Group& group = group_of(request);
        group.request.is_plain = false;
        if (!group.is_queued && !group.is_under_way && !group.is_renewal) {
            renewals_.push_back(&group);
            group.is_renewal = true;
            renewal_tick_->start(renewal_wait(*request.quotas));
        }
    });
}

void AcquireBatcher::drop_renewal(Group& group) noexcept {
    if (std::exchange(group.is_renewal, false)) {
        std::erase(renewals_, &group);
    }
}

/// Renewals share the next call, whoever needs it. In an outage none is made.
void AcquireBatcher::queue_renewals() noexcept {
    if (!attempt(context_.log(), [&] { queued_.reserve(queued_.size() + renewals_.size()); })) {
        renewal_tick_->start(kMostRenewalWait);
        return;
    }
    for (Group* group : renewals_) {
        group->is_renewal = false;
        if (context_.transport().is_reachable(group->slot)) {
            group->request.renews_lease = true;
            group->is_queued = true;
            queued_.push_back(group);
        } else {
            end(*group);
        }
    }
    renewals_.clear();
}

void AcquireBatcher::enqueue_or_fail(Group& group) noexcept {
    if (!attempt(context_.log(), [&] { enqueue(group); })) {
        fail(group);
    }
}

void AcquireBatcher::flush() noexcept {
    end_of_turn_->cancel();
    renewal_tick_->cancel();
    queue_renewals();
    auto groups = std::exchange(queued_, std::exchange(sent_, {}));
    if (context_.settings().is_cluster) {
        std::ranges::sort(groups, {}, &Group::slot);
    }
    for (std::span<Group* const> rest = groups; !rest.empty();) {
        const auto batch = first_batch(rest);
        send(batch);
        rest = rest.subspan(batch.size());
    }
    groups.clear();
    sent_ = std::move(groups);
}

/// The first groups that one call may decide: their keys must be in one slot, and their numbers
/// must fit into one reply.
std::span<AcquireBatcher::Group* const> AcquireBatcher::first_batch(
    std::span<Group* const> groups) const noexcept {
    const auto batch = groups.first(std::min(groups.size(), most_groups_));
    std::size_t numbers = 0;
    const auto other = std::ranges::find_if(batch, [&](const Group* group) {
        numbers += redis::reply_numbers(*group->request.quotas);
        return group->slot != groups.front()->slot ||
               (numbers > redis::kMostReplyNumbers && group != groups.front());
    });
    return {batch.begin(), other};
}

void AcquireBatcher::send(std::span<Group* const> groups) noexcept {
    const redis::Slot slot = groups.front()->slot;
    std::unique_ptr<AcquireCall> pending;
    redis::Call call;
    const bool ready = attempt(context_.log(), [&] {
        pending = std::make_unique<AcquireCall>(*this, slot, groups.size());
        pending->prepare(groups);
        call = pending->call();
    });
    if (!ready) {
        // Groups that are not in the call first: when the call fails, its groups may be destroyed.
        for (Group* group : groups) {
            if (group->is_queued) {
                fail(*group);
            }
        }
        if (pending) {
            pending->finish_idle();
            pending->fail_all(AcquireFailure::kNotApplied);
        }
        return;
    }
    pending->finish_idle();
    if (!pending->empty()) {
        context_.statistics()["commands.acquire"].add();
        calls_.run(slot, std::move(call), std::move(pending));
    }
}

/// The group's call has ended. Requests that arrived in the meantime are decided again: a lease may
/// serve them.
void AcquireBatcher::finish(Group& group) noexcept {
    group.is_under_way = false;
    WaitList<AcquireWaiter> waiting(std::move(group.waiting));
    waiting.drain([](AcquireWaiter& waiter) { waiter.on_retry(); });
    if (std::exchange(group.settle_again, false)) {
        enqueue_or_fail(group);
    } else if (!group.is_queued && !group.is_under_way && !group.is_renewal) {
        end(group);
        if (is_idle()) {
            settler_->on_idle();
        }
    }
}

/// No call can be made for the group.
void AcquireBatcher::fail(Group& group) noexcept {
    group.is_queued = false;
    drop_renewal(group);
    WaitList<AcquireWaiter> waiting(std::move(group.waiting));
    waiting.drain(
        [](AcquireWaiter& waiter) { waiter.on_unavailable(AcquireFailure::kNotApplied); });
    end(group);
}

}  // namespace tollgate::engine
