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
    return {request.id_hash, request.quotas.get(), demand.cost, demand.refusals_strike,
            demand.ban.has_value()};
}

AcquireBatcher::Batch& AcquireBatcher::batch_of(const AcquireRequest& request) {
    const Key key = key_of(request);
    if (const auto known = batches_.find(key); known != batches_.end()) {
        return known->second;
    }
    const redis::Slot slot = context_.slot_of(request.slot_text());
    if (spare_.empty()) {
        return batches_.try_emplace(key, request, slot).first->second;
    }
    auto node = std::move(spare_.back());
    spare_.pop_back();
    node.key() = key;
    node.mapped().begin(request, slot);
    return batches_.insert(std::move(node)).position->second;
}

/// Nobody waits for the batch any more.
void AcquireBatcher::end(Batch& batch) noexcept {
    auto node = batches_.extract(key_of(batch.request));
    if (spare_.size() < kMostSpare) {
        node.mapped().request.quotas = nullptr;
        spare_.push_back(std::move(node));
    }
}

void AcquireBatcher::submit(AcquireWaiter& waiter, const AcquireRequest& request) {
    Batch& batch = batch_of(request);
    enqueue(batch);
    batch.request.is_plain = batch.request.is_plain && request.is_plain;
    batch.request.demand.changed = std::max(batch.request.demand.changed, request.demand.changed);
    batch.waiting.push(waiter);
}

void AcquireBatcher::settle(const AcquireRequest& request) {
    Batch& batch = batch_of(request);
    batch.request.is_plain = false;
    if (request.returns_lease) {
        batch.request.returns_lease = true;
        batch.settle_again = batch.is_under_way;
    }
    enqueue(batch);
}

void AcquireBatcher::enqueue(Batch& batch) {
    if (batch.is_queued || batch.is_under_way) {
        return;
    }
    queued_.push_back(&batch);
    drop_renewal(batch);
    batch.is_queued = true;
    end_of_turn_->post();
}

void AcquireBatcher::renew_lease(const AcquireRequest& request) noexcept {
    attempt(context_.log(), [&] {
        // A batch is not made without a place for it.
        if (renewals_.size() == renewals_.capacity()) {
            renewals_.reserve(2 * renewals_.size() + kMostBatches);
        }
        Batch& batch = batch_of(request);
        batch.request.is_plain = false;
        if (!batch.is_queued && !batch.is_under_way && !batch.is_renewal) {
            renewals_.push_back(&batch);
            batch.is_renewal = true;
            renewal_tick_->start(renewal_wait(*request.quotas));
        }
    });
}

void AcquireBatcher::drop_renewal(Batch& batch) noexcept {
    if (std::exchange(batch.is_renewal, false)) {
        std::erase(renewals_, &batch);
    }
}

/// Renewals share the next call, whoever needs it. In an outage none is made.
void AcquireBatcher::queue_renewals() noexcept {
    if (!attempt(context_.log(), [&] { queued_.reserve(queued_.size() + renewals_.size()); })) {
        renewal_tick_->start(kMostRenewalWait);
        return;
    }
    for (Batch* batch : renewals_) {
        batch->is_renewal = false;
        if (context_.transport().is_reachable(batch->slot)) {
            batch->request.renews_lease = true;
            batch->is_queued = true;
            queued_.push_back(batch);
        } else {
            end(*batch);
        }
    }
    renewals_.clear();
}

void AcquireBatcher::enqueue_or_fail(Batch& batch) noexcept {
    if (!attempt(context_.log(), [&] { enqueue(batch); })) {
        fail(batch);
    }
}

void AcquireBatcher::flush() noexcept {
    end_of_turn_->cancel();
    renewal_tick_->cancel();
    queue_renewals();
    auto batches = std::exchange(queued_, std::exchange(sent_, {}));
    if (context_.settings().is_cluster) {
        std::ranges::sort(batches, {}, &Batch::slot);
    }
    for (std::span<Batch* const> rest = batches; !rest.empty();) {
        const auto first = first_of_one_call(rest);
        send(first);
        rest = rest.subspan(first.size());
    }
    batches.clear();
    sent_ = std::move(batches);
}

/// The first batches that one call may decide: their keys must be in one slot, and their numbers
/// must fit into one reply.
std::span<AcquireBatcher::Batch* const> AcquireBatcher::first_of_one_call(
    std::span<Batch* const> batches) const noexcept {
    const auto most = batches.first(std::min(batches.size(), most_batches_));
    std::size_t numbers = 0;
    const auto other = std::ranges::find_if(most, [&](const Batch* batch) {
        numbers += redis::reply_numbers(*batch->request.quotas);
        return batch->slot != batches.front()->slot ||
               (numbers > redis::kMostReplyNumbers && batch != batches.front());
    });
    return {most.begin(), other};
}

void AcquireBatcher::send(std::span<Batch* const> batches) noexcept {
    const redis::Slot slot = batches.front()->slot;
    std::unique_ptr<AcquireCall> pending;
    redis::Call call;
    const bool ready = attempt(context_.log(), [&] {
        pending = std::make_unique<AcquireCall>(*this, slot, batches.size());
        pending->prepare(batches);
        call = pending->call();
    });
    if (!ready) {
        // Batches that are not in the call first: when the call fails, its batches may be
        // destroyed.
        for (Batch* batch : batches) {
            if (batch->is_queued) {
                fail(*batch);
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

/// The batch's call has ended. Requests that arrived in the meantime are decided again: a lease may
/// serve them.
void AcquireBatcher::finish(Batch& batch) noexcept {
    batch.is_under_way = false;
    WaitList<AcquireWaiter> waiting(std::move(batch.waiting));
    waiting.drain([](AcquireWaiter& waiter) { waiter.on_retry(); });
    if (std::exchange(batch.settle_again, false)) {
        enqueue_or_fail(batch);
    } else if (!batch.is_queued && !batch.is_under_way && !batch.is_renewal) {
        end(batch);
        if (is_idle()) {
            settler_->on_idle();
        }
    }
}

/// No call can be made for the batch.
void AcquireBatcher::fail(Batch& batch) noexcept {
    batch.is_queued = false;
    drop_renewal(batch);
    WaitList<AcquireWaiter> waiting(std::move(batch.waiting));
    waiting.drain(
        [](AcquireWaiter& waiter) { waiter.on_unavailable(AcquireFailure::kNotApplied); });
    end(batch);
}

}  // namespace tollgate::engine
