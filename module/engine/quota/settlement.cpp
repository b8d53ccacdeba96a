#include "module/engine/quota/settlement.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "module/quota/lease.hpp"
#include "module/quota/owed_units.hpp"
#include "module/text/parse_error.hpp"

namespace tollgate::engine {

namespace {

constexpr SteadyTime kSettlementInterval{250};
/// The next pass begins this time after a recall: the other workers return their slices meanwhile.
constexpr SteadyTime kRecallDelay{25};
/// But not earlier than this time after the one before: a pass visits all held quotas.
constexpr SteadyTime kRecallInterval{100};
/// How soon an unfinished pass continues.
constexpr SteadyTime kContinueAfter{1};
/// A worker that exits settles nothing more after this time.
constexpr SteadyTime kLastSettlement{2000};
/// A turn ends after this number of held quotas, due or not, and after this number of settled ones:
/// requests wait meanwhile, for less than a millisecond.
constexpr std::size_t kMostQuotasVisited = 1024;
constexpr std::size_t kMostSettled = 64;

/// A step of a pass counts as so many held quotas: it may pass many that are not due.
constexpr std::size_t kQuotasInStep = 16;

/// The quotas of the record of a key or of a group in this table; none if its limits are invalid.
Quotas quotas_in(const PlanTable& table, const KeyRecord& record) {
    try {
        const PlanTable* const tables[] = {&table};
        return choose_quotas(tables, record, record.group.empty() ? &record : nullptr)
            .value_or(Quotas{});
    } catch (const ParseError&) {
        return {};
    }
}

/// The quota of a record in a table that is counted as this one, with the limits of the record's
/// plan: a node stores none. Nothing if the plan has changed. Throws std::bad_alloc.
std::optional<TableQuota> with_limits(const PlanTable& table, const KeyRecord& record,
                                      const TableQuota& counted) {
    for (TableQuota& quota : quotas_in(table, record)) {
        if (quota.by == counted.by && layout_name(quota) == layout_name(counted)) {
            quota.value = counted.value;
            return std::move(quota);
        }
    }
    return std::nullopt;
}

/// When the quota has to be settled, also if its lease is not recalled.
SteadyTime due_at(const QuotaCache::HeldSummary& held, const PlanTable& table) {
    return settling_due(held.units, lease_horizon(held.shortest, table.lease_time));
}

}  // namespace

Settlement::Settlement(EngineContext& context, UnstoredUnits& unstored, AcquireBatcher& acquires,
                       Slices& slices)
    : context_(context),
      unstored_(unstored),
      acquires_(acquires),
      slices_(slices),
      timer_(context.make_timer([this] { run(); })) {
    acquires.set_settler(*this);
    slices.set_settler(*this);
    timer_->start(kSettlementInterval);
}

void Settlement::run() noexcept {
    if (!attempt(context_.log(), [&] { on_timer(); })) {
        timer_->start(kSettlementInterval);
    }
}

void Settlement::on_timer() {
    unstored_.store(context_);
    if (is_shutting_down_) {
        if (is_late_ && context_.may_reach_redis()) {
            begin_last_passes();
        }
        timer_->start(kSettlementInterval);
        return;
    }
    const bool is_complete = !claim_turn() || settle(Which::kDue);
    timer_->start(is_complete ? next_turn() : kContinueAfter);
}

/// How soon the next pass may be due.
SteadyTime Settlement::next_turn() const {
    if (pass_due_ == SteadyTime{}) {
        return kSettlementInterval;
    }
    const SteadyTime left = pass_due_ - context_.steady_time();
    return left > SteadyTime(0) ? left : kRecallDelay;
}

/// Whether this worker runs the pass that is due now.
bool Settlement::claim_turn() {
    if (!context_.may_reach_redis()) {
        pass_due_ = {};
        return false;
    }
    SharedRedis& shared = context_.zone().redis(context_.settings().name_hash);
    const LockedNode node(context_.zone());
    const SteadyTime now = context_.steady_time();
    const bool continues = stripe_ != 0 || cursor_ != QuotaCache::Cursor{};
    if (!continues && now < pass_due_) {
        return false;  // The other workers have not returned their slices yet.
    }
    if (shared.pass_began >= pass_due_) {
        const SteadyTime due = recalled_ + kRecallDelay;
        pass_due_ = shared.pass_began < due ? due : SteadyTime{};
    }
    const SteadyTime interval = pass_due_ != SteadyTime{} ? kRecallInterval : kSettlementInterval;
    const SteadyTime last = shared.settled;
    if (!continues && last <= now && now - last < interval - kContinueAfter) {
        return false;
    }
    is_full_ = continues ? is_full_ : last > now || now - last > HeldSets::kLongestPause;
    shared.settled = now;
    shared.pass_began = continues ? shared.pass_began : now;
    return true;
}

void Settlement::recall(const redis::Recall& recall) noexcept {
    attempt(context_.log(), [&] {
        const IdHash hash = id_hash(recall.id);
        const SteadyTime now = context_.steady_time();
        LockedNode(context_.zone())
            .recalls()
            .note(context_.settings().name_hash, hash, recall.value.number(), now);
        slices_.end(hash);
        begin_pass(now);
    });
}

/// A pass that is due is not put off, whatever is recalled meanwhile.
void Settlement::begin_pass(SteadyTime recalled) noexcept {
    if (!is_shutting_down_) {
        recalled_ = std::max(recalled_, recalled);
        pass_due_ = pass_due_ == SteadyTime{} ? recalled + kRecallDelay : pass_due_;
        timer_->start(next_turn());
    }
}

/// Copies those of some held quotas that may have to be settled or dropped, and adds those that it
/// has looked at to `visited`. True if they are the last of all stripes.
bool Settlement::visit_stripe(std::vector<QuotaCache::Held>& found, std::size_t& visited,
                              Which which, SteadyTime now) {
    Zone& zone = context_.zone();
    const bool is_any_recalled =
        now - zone.last_recall(context_.settings().name_hash) < kRecallHolds;
    const HeldPass pass{now, which == Which::kLeft || is_full_ || is_any_recalled};
    visited += kQuotasInStep;
    const LockedStripe stripe(zone, StripeNumber{stripe_});
    const auto look_at = [&](const QuotaCache::HeldSummary& held) {
        ++visited;
        return look(held, which, now);
    };
    const bool is_last =
        stripe.quotas().visit_held(cursor_, pass, look_at, [&](const QuotaCache::Held& held) {
            found.push_back(held);
            return true;
        });
    stripe_ = is_last ? (stripe_ + 1) % zone.stripes() : stripe_;
    return is_last && stripe_ == 0;
}

/// Does not want most held quotas: their leases are in use. The stripe is locked, so neither
/// Redis's clock nor the record of the key can be read.
QuotaCache::Look Settlement::look(const QuotaCache::HeldSummary& held, Which which,
                                  SteadyTime now) const {
    if (!is_ours(held.redis)) {
        return {false, held.due_at()};
    }
    const PlanTable* const table = context_.table_of(held.redis, held.table);
    if (table == nullptr) {
        return {true, now};
    }
    const SteadyTime due = due_at(held, *table);
    if (which == Which::kLeft) {
        return {std::ranges::find(left_, held.table) != left_.end(), due};
    }
    return {due <= now || now - last_recall(held) < kRecallHolds, due};
}

/// When the lease of the quota was last recalled; 0: not lately.
SteadyTime Settlement::last_recall(const QuotaCache::HeldSummary& held) const {
    const Zone& zone = context_.zone();
    const SteadyTime now = context_.steady_time();
    if (held.units.lease == 0 || now - zone.last_recall(held.redis) >= kRecallHolds) {
        return {};  // The hash of the owner takes longer than this.
    }
    return zone.last_recall(held.redis, id_hash(held.owner.id, held.owner.group), held.value);
}

/// Whether this engine settles or drops the quotas of this Redis. One engine drops those of the
/// Redis that the configuration no longer has.
bool Settlement::is_ours(std::uint32_t redis) const {
    const std::uint32_t own = context_.settings().name_hash;
    const auto tables = context_.tables();
    return redis == own || (!tables.empty() && tables.front().redis == own &&
                            std::ranges::find(tables, redis, &ServedTable::redis) == tables.end());
}

/// Drops a quota of a table that the configuration no longer has, unless an old worker can still
/// settle it. Its Redis may no longer be configured, so this one's statistics count the units.
void Settlement::drop_if_left(const QuotaCache::Held& held) {
    if (!may_be_used(held)) {
        drop(held);
    }
}

void Settlement::drop(const QuotaCache::Held& held) {
    const QuotaState state = LockedStripe(context_.zone(), held.id()).quotas().drop(held);
    count(context_.statistics(), lost_with(state, held.quota("")));
}

/// Whether a worker is left that may serve or settle a quota that this configuration does not have:
/// the last one that began to serve its table, or any that is shutting down.
bool Settlement::may_be_used(const QuotaCache::Held& held) const {
    Zone& zone = context_.zone();
    const WorkerProcess& worker = context_.worker();
    const LockedNode node(zone);
    const std::uint32_t last = node.table_workers().find(held.redis, held.table);
    return (last != 0 && worker.is_alive(last)) || node.places().any([&](std::uint32_t process) {
        return !zone.workers().contains(process) && worker.is_alive(process);
    });
}

/// Nothing if the quota need not be settled now, or cannot be.
std::optional<Settlement::Due> Settlement::due(const QuotaCache::Held& held, const PlanTable& table,
                                               Which which, ExactSteadyTime now) const {
    const redis::Slot slot = context_.slot_of(held.owner.view().slot_text());
    const ClockBounds bounds = context_.clock_bounds(slot, now);
    const bool is_recalled = tollgate::is_recalled(Period::of_code(held.layout.periods.front()),
                                                   last_recall(held.summary()), bounds);
    const bool is_due =
        which == Which::kLeft || is_recalled || due_at(held.summary(), table) <= bounds.steady;
    if (!is_due || !context_.transport().is_reachable(slot)) {
        return std::nullopt;
    }
    return Due{held, held.id(), is_recalled};
}

/// A turn of a pass. True if no held quota is left to look at.
bool Settlement::settle(Which which) {
    const ExactSteadyTime now = context_.clock().steady();
    std::vector<QuotaCache::Held> found;
    std::size_t visited = 0;
    std::size_t settled = 0;
    bool is_complete = false;
    while (!is_complete && visited < kMostQuotasVisited && settled < kMostSettled) {
        found.clear();
        is_complete = visit_stripe(found, visited, which, std::chrono::floor<SteadyTime>(now));
        for (const QuotaCache::Held& held : found) {
            const PlanTable* const table = context_.table_of(held.redis, held.table);
            if (table == nullptr) {
                drop_if_left(held);
            } else if (const auto one = due(held, *table, which, now)) {
                settle(*one, which);
                ++settled;
            }
        }
    }
    return is_complete;
}

void Settlement::settle_if_left(const AcquireRequest& request) {
    if (!returns_leases(*request.quotas)) {
        return;
    }
    if (!context_.transport().is_reachable(context_.slot_of(request.slot_text()))) {
        is_late_ = true;
        for (const TableQuota& quota : *request.quotas) {
            if (is_left(quota.table_id) &&
                std::ranges::find(left_, quota.table_id) == left_.end()) {
                left_.push_back(quota.table_id);
            }
        }
        return;
    }
    AcquireRequest settling = request;
    settling.returns_lease = true;
    acquires_.settle(settling);
}

void Settlement::settle(const Due& due, Which which) {
    const QuotaOwner owner = due.held.owner.view();
    AcquireRequest request;
    request.quotas = quotas_of(due);
    request.returns_lease = which == Which::kLeft || due.is_recalled;
    request.id = owner.id;
    request.group = owner.group;
    request.id_hash = due.id;
    request.api_key = due.held.api_key;
    acquires_.settle(request);
    context_.statistics()["leases_recalled"].add(due.is_recalled ? 1 : 0);
}

/// The quotas of one table that are counted as the held one. The configuration has the table. They
/// have limits only if parts of these are noticed, and if the zone still has the record of the key.
std::shared_ptr<const Quotas> Settlement::quotas_of(const Due& due) {
    const QuotaCache::Held& held = due.held;
    const PlanTable* const table = context_.table_of(held.redis, held.table);
    if (!table->notify.empty()) {
        Zone& zone = context_.zone();
        const KeyRecord record = LockedStripe(zone, zone.stripe_of_key(held.api_key))
                                     .keys()
                                     .find_head(held.api_key, due.id);
        auto noticed =
            record.id.empty() ? std::nullopt : with_limits(*table, record, held.quota(table->name));
        if (noticed) {
            return std::make_shared<const Quotas>(Quotas{*std::move(noticed)});
        }
    }
    const auto is_same = [&](const auto& known) {
        const TableQuota& quota = known->front();
        return quota.table_id == held.table && quota.value.number() == held.value &&
               WindowLayout(quota) == held.layout && quota.rates == held.quota(quota.table).rates;
    };
    const auto known = std::ranges::find_if(quotas_, is_same);
    if (known != quotas_.end()) {
        return *known;
    }
    constexpr std::size_t kMostKnown = 256;
    if (quotas_.size() == kMostKnown) {
        quotas_.clear();
    }
    TableQuota quota = held.quota(table->name);
    take_from(*table, quota);
    quota.policies.resize(quota.rates.size());
    return quotas_.emplace_back(std::make_shared<const Quotas>(Quotas{std::move(quota)}));
}

/// Whether no other worker serves this table of the engine's Redis.
bool Settlement::is_left(std::uint32_t table) const {
    Zone& zone = context_.zone();
    const std::uint32_t last =
        LockedNode(zone).table_workers().find(context_.settings().name_hash, table);
    return !zone.workers().contains(last) || !context_.worker().is_alive(last);
}

void Settlement::shut_down() {
    if (std::exchange(is_shutting_down_, true)) {
        return;
    }
    slices_.shut_down();
    const WorkerProcess& worker = context_.worker();
    context_.zone().workers().erase(worker.number(), worker.process());
    const std::uint32_t own = context_.settings().name_hash;
    for (const ServedTable& served : context_.tables()) {
        if (served.redis == own && is_left(served.id)) {
            left_.push_back(served.id);
        }
    }
    unstored_.store(context_);
    begin_last_passes();
}

/// Settles what no other worker will.
void Settlement::begin_last_passes() noexcept {
    if (!left_.empty() && !is_last_ && context_.may_reach_redis()) {
        is_late_ = false;
        stripe_ = 0;
        cursor_ = {};
        is_last_ = true;
        counted_before_ = std::numeric_limits<std::uint64_t>::max();
        ends_at_ = context_.steady_time() + kLastSettlement;
        continue_last_passes();
    }
}

/// The zone has room for few reports at a time, and Redis decides nothing after the deadline of a
/// call: what is sent waits for its reply before the next is. The replies continue the passes,
/// because no timer may run any more before the worker exits. What found no room, or was not
/// counted, is in a further pass, unless Redis counted nothing in the one before.
void Settlement::continue_last_passes() noexcept {
    if (!is_last_ || std::exchange(is_continuing_, true)) {
        return;
    }
    AcquireBatcher& acquires = acquires_;
    const RedisStatistics& statistics = context_.statistics();
    const bool done = attempt(context_.log(), [&] {
        do {
            if (stripe_ == 0 && cursor_ == QuotaCache::Cursor{}) {
                const std::uint64_t counted = statistics["owed_units.settled"].value() +
                                              statistics["lease_units.returned"].value();
                is_last_ = std::exchange(counted_before_, counted) != counted;
            }
            is_last_ = is_last_ && context_.steady_time() < ends_at_;
            if (is_last_) {
                unstored_.store(context_);
                settle(Which::kLeft);
                acquires.flush();
            }
        } while (is_last_ && acquires.is_idle());
    });
    is_last_ = is_last_ && done;
    is_continuing_ = false;
}

bool Settlement::returns_leases(const Quotas& quotas) const {
    return is_shutting_down_ && std::ranges::any_of(quotas, [&](const TableQuota& quota) {
               return is_left(quota.table_id);
           });
}

}  // namespace tollgate::engine
