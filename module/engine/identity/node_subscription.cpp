#include "module/engine/identity/node_subscription.hpp"

#include <utility>

namespace tollgate::engine {

namespace {

/// How often a worker looks whether the subscriber is there.
constexpr SteadyTime kWatchInterval{250};
/// How often a worker looks while changes are missed: it learns soon when they no longer are.
constexpr SteadyTime kGapInterval{50};
/// For how long a worker that shuts down leaves it to others to subscribe.
constexpr SteadyTime kLetOthers{600};
/// A candidate that does not succeed within this time leaves it to others, for a while.
constexpr SteadyTime kPatience{5000};
constexpr SteadyTime kAfterPatience{2000};

}  // namespace

NodeSubscription::NodeSubscription(EngineContext& context, Owner& owner)
    : context_(context),
      owner_(owner),
      shared_(context.zone().redis(context.settings().name_hash)),
      timer_(context.make_timer([this] { run(); })) {
    timer_->start(kGapInterval);
}

SharedSubscription::Claimant NodeSubscription::self() const {
    const WorkerProcess& worker = context_.worker();
    return {worker.process(), worker.is_exiting(), master_};
}

/// Another `tollgate_redis` of this process may have the same data. A predecessor that had this
/// process id is silent.
bool NodeSubscription::is_alive(std::uint32_t process) const {
    return process == context_.worker().process() || context_.worker().is_alive(process);
}

void NodeSubscription::attach(EventSource* source) noexcept {
    if (source == nullptr) {
        tell(false);
        const LockedNode node(context_.zone());
        shared_.subscription.leave(std::exchange(claim_, 0));
        is_connecting_ = false;
    }
    source_ = source;
    if (source != nullptr) {
        run();
    }
}

void NodeSubscription::run() noexcept {
    const SteadyTime now = context_.steady_time();
    if (claim_ != 0) {
        keep(now);
    } else if (source_ != nullptr) {
        consider(now);
    }
    const bool is_complete = this->is_complete(now);
    tell(is_complete && owner_.is_informed(now));
    timer_->start(is_complete ? kWatchInterval : kGapInterval);
}

void NodeSubscription::tell(bool is_informed) noexcept {
    if (std::exchange(is_informed_, is_informed) != is_informed && source_ != nullptr) {
        source_->on_informed(is_informed);
    }
}

/// Says that this worker is there.
void NodeSubscription::keep(SteadyTime now) noexcept {
    SharedSubscription& subscription = shared_.subscription;
    bool is_subscriber = false;
    bool is_late = false;
    bool is_kept = false;
    {
        const LockedNode node(context_.zone());
        is_subscriber = subscription.is_subscriber(claim_);
        is_late = is_subscriber && !subscription.is_complete(now);
        is_kept = is_late ? subscription.interrupt(claim_, now)
                          : subscription.keep(claim_, context_.worker().is_exiting(), now);
    }
    if (!is_kept) {
        release();
    } else if (is_late) {
        claimed_ = now;
        owner_.on_late();
    } else if (!is_subscriber && now - claimed_ > kPatience && source_ != nullptr &&
               !source_->is_refused()) {
        give_up(now);
    }
}

/// Becomes the candidate if the node needs one.
void NodeSubscription::consider(SteadyTime now) noexcept {
    SharedSubscription& subscription = shared_.subscription;
    const SharedSubscription::Claimant worker = self();
    if (std::exchange(is_connecting_, false)) {
        source_->unsubscribe();  // It was replaced within a callback of the connection.
        owner_.on_replaced();
    }
    const auto is_alive = [this](std::uint32_t process) { return this->is_alive(process); };
    if (subscription.serves(worker, now, is_alive)) {
        needed_since_ = {};
        return;
    }
    SharedSubscription::Claim claim = 0;
    {
        const LockedNode node(context_.zone());
        if (!subscription.needs(worker, now, is_alive)) {
            needed_since_ = {};
            return;
        }
        if (needed_since_ == SteadyTime{}) {
            needed_since_ = now;
        }
        if (now >= not_before_ && (!worker.is_leaving || now - needed_since_ >= kLetOthers)) {
            claim = subscription.stand(worker, is_alive(subscription.subscriber()), now);
        }
    }
    if (claim != 0) {
        take(claim);
    }
}

/// Connects with this claim.
void NodeSubscription::take(SharedSubscription::Claim claim) noexcept {
    needed_since_ = {};
    claim_ = claim;
    claimed_ = context_.steady_time();
    if (source_ == nullptr) {
        return;
    }
    if (std::exchange(is_connecting_, true)) {
        source_->renew();
    } else {
        source_->subscribe();
    }
}

/// Another worker may succeed where this one does not.
void NodeSubscription::give_up(SteadyTime now) noexcept {
    {
        const LockedNode node(context_.zone());
        shared_.subscription.leave(claim_);
    }
    not_before_ = now + kAfterPatience;
    release();
}

/// The claim is gone.
void NodeSubscription::release() noexcept {
    claim_ = 0;
    if (std::exchange(is_connecting_, false)) {
        source_->unsubscribe();
    }
    owner_.on_replaced();
}

bool NodeSubscription::on_subscribed(bool is_subscribed) noexcept {
    const SteadyTime now = context_.steady_time();
    const LockedNode node(context_.zone());
    if (shared_.subscription.is_subscriber(claim_)) {
        claimed_ = now;
    }
    if (is_subscribed && claim_ == 0 && source_ == nullptr) {
        claim_ = shared_.subscription.stand(self(), false, now);
    } else if (!shared_.subscription.interrupt(claim_, now)) {
        claim_ = 0;
    }
    return claim_ != 0;
}

NodeSubscription::Gap NodeSubscription::gap() const noexcept {
    const LockedNode node(context_.zone());
    return {shared_.subscription.known_until(), shared_.subscription.has_moved()};
}

void NodeSubscription::elect() noexcept {
    const SteadyTime now = context_.steady_time();
    {
        const LockedNode node(context_.zone());
        shared_.subscription.elect(claim_, now);
    }
    tell(is_complete(now) && owner_.is_informed(now));
}

void NodeSubscription::on_moved(std::uint32_t master) noexcept {
    master_ = master;
    SharedSubscription::Claim claim = 0;
    {
        const LockedNode node(context_.zone());
        claim = shared_.subscription.move(claim_, self(), context_.steady_time());
    }
    if (claim != 0 && claim != claim_) {
        take(claim);
    }
}

void NodeSubscription::renew(SteadyTime refused) noexcept {
    if (source_ == nullptr) {
        return;
    }
    if (claim_ != 0) {
        source_->renew();
        return;
    }
    SharedSubscription::Claim claim = 0;
    {
        const LockedNode node(context_.zone());
        if (shared_.subscription.claimed() <= refused) {
            claim = shared_.subscription.stand(self(), false, context_.steady_time());
        }
    }
    if (claim != 0) {
        take(claim);
    }
}

void NodeSubscription::shut_down() noexcept {
    run();
}

}  // namespace tollgate::engine
