#include "module/zone/shared_subscription.hpp"

#include <utility>

namespace tollgate {

SharedSubscription::Claim SharedSubscription::stand(const Claimant& worker,
                                                    bool subscriber_is_alive, SteadyTime now) {
    if (!subscriber_is_alive) {
        dismiss();
    }
    candidate_ = ++last_claim_;
    candidate_worker_ = worker;
    candidate_seen_ = claimed_ = now;
    return candidate_;
}

bool SharedSubscription::keep(Claim claim, bool is_leaving, SteadyTime now) {
    if (claim == 0 || (claim != candidate_ && claim != subscriber_)) {
        return false;
    }
    if (claim == candidate_) {
        candidate_seen_ = now;
        candidate_worker_.is_leaving = is_leaving;
    } else {
        is_leaving_.set(is_leaving ? 1 : 0);
        known_until_ = now;
        complete_until_.set((now + kTrusted).count());
    }
    return true;
}

bool SharedSubscription::elect(Claim claim, SteadyTime now) {
    if (claim == 0 || claim != candidate_) {
        return is_subscriber(claim);
    }
    subscriber_ = std::exchange(candidate_, 0);
    subscriber_process_.set(candidate_worker_.process);
    subscriber_master_ = candidate_worker_.master;
    has_moved_ = false;
    return keep(claim, candidate_worker_.is_leaving, now);
}

/// The others do not rely on the subscriber any more.
void SharedSubscription::dismiss() {
    complete_until_.set(0);
    subscriber_ = 0;
    subscriber_process_.set(0);
    is_leaving_.set(0);
}

bool SharedSubscription::interrupt(Claim claim, SteadyTime now) {
    if (is_subscriber(claim)) {
        const Claimant worker{subscriber(), is_leaving(), subscriber_master_};
        dismiss();
        if (candidate_ == 0) {
            candidate_ = claim;
            candidate_worker_ = worker;
            candidate_seen_ = now;
        }
    }
    return claim != 0 && claim == candidate_;
}

void SharedSubscription::leave(Claim claim) {
    if (is_subscriber(claim)) {
        dismiss();
    } else if (claim != 0 && claim == candidate_) {
        candidate_ = 0;
    }
}

SharedSubscription::Claim SharedSubscription::move(Claim own, const Claimant& worker,
                                                   SteadyTime now) {
    const bool is_claimed = own != 0 && (own == subscriber_ || own == candidate_);
    if (!is_claimed && is_at(worker.master)) {
        return 0;
    }
    if (is_subscriber(own)) {
        interrupt(own, now);
    } else if (subscriber_master_ != worker.master) {
        dismiss();
    }
    has_moved_ = true;
    if (own != 0 && own == candidate_) {
        candidate_worker_ = worker;
        return own;
    }
    return is_at(worker.master) ? 0 : stand(worker, false, now);
}

}  // namespace tollgate
