#include "module/gateway/settlement.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "module/gateway/engine.hpp"
#include "module/gateway/held_quotas.hpp"
#include "module/quota/owed_units.hpp"
#include "module/text/name_hash.hpp"

namespace tollgate::gateway {

namespace {

constexpr SteadyTime kInterval{250};
/// How soon an unfinished pass continues.
constexpr SteadyTime kContinueAfter{10};
constexpr std::size_t kMostAtOnce = 1024;

}  // namespace

Settlement::Settlement(Engine& engine)
    : engine_(engine), timer_(engine.make_timer([this] { run(); })) {
    timer_->start(kInterval);
}

void Settlement::run() noexcept {
    if (!attempt(engine_.log(), [&] { on_timer(); })) {
        timer_->start(kInterval);
    }
}

void Settlement::on_timer() {
    if (engine_.worker().is_exiting()) {
        shut_down();
        return;
    }
    const bool is_complete = !claim_turn() || settle(Which::kDue);
    timer_->start(is_complete ? kInterval : kContinueAfter);
}

/// Whether a call may succeed. In a cluster, each call finds out whether its own master is in
/// reach.
bool Settlement::may_reach_redis() const {
    return engine_.settings().is_cluster || engine_.transport().is_reachable(0);
}

/// Whether this worker runs the pass that is due now.
bool Settlement::claim_turn() const {
    if (!may_reach_redis()) {
        return false;
    }
    const LockedZone zone(engine_.zone());
    const SteadyTime now = engine_.steady_time();
    SteadyTime& last = zone.redis(engine_.settings().name_hash).settled;
    const bool continues = cursor_.large || cursor_.set != 0;
    if (!continues && last <= now && now - last < kInterval - kContinueAfter) {
        return false;
    }
    last = now;
    return true;
}

/// True if no held quota is left to look at.
bool Settlement::settle(Which which) {
    std::vector<Due> found;
    const bool is_cluster = engine_.settings().is_cluster;
    const ExactSteadyTime now = engine_.clock().steady();
    const auto take = [&](const QuotaCache::Held& held, const LockedZone& zone,
                          const ClockBounds& common) {
        if (held.redis != engine_.settings().name_hash) {
            return true;
        }
        const auto find_id = [&] { return zone.keys().find_id(held.api_key, held.id); };
        std::string id = is_cluster ? find_id() : std::string();
        const redis::Slot slot = engine_.slot_of(id);
        const ClockBounds bounds = is_cluster ? engine_.clock_bounds(zone, slot, now) : common;
        const bool is_due =
            which == Which::kAll || held.has_report || needs_settling(held.state, bounds);
        if (is_due && engine_.transport().is_reachable(slot)) {
            found.push_back(
                {held, is_cluster ? std::move(id) : find_id(), held.has_ended(bounds.earliest)});
        }
        return found.size() < kMostAtOnce;
    };
    bool is_complete = false;
    while (!is_complete && found.size() < kMostAtOnce) {
        const LockedZone zone(engine_.zone());
        const ClockBounds common = engine_.clock_bounds(zone, 0, now);
        is_complete = zone.quotas().visit_held(
            cursor_, [&](const QuotaCache::Held& held) { return take(held, zone, common); });
    }
    for (const Due& due : found) {
        settle(due);
    }
    return is_complete;
}

void Settlement::settle_ended(const KeyCache::Found& ended, std::uint64_t api_key) {
    Quotas held;
    {
        const LockedZone zone(engine_.zone());
        held = held_quotas(engine_.tables(), zone, engine_.settings().name_hash, ended);
    }
    for (TableQuota& quota : held) {
        AcquireRequest request;
        request.id = ended.record.id;
        request.id_hash = ended.id;
        request.api_key = api_key;
        request.quotas = std::make_shared<const Quotas>(Quotas{std::move(quota)});
        request.returns_lease = true;
        engine_.acquires().settle(request);
    }
}

/// A record leaves the zone before its quotas are settled only if its plan has changed since (see
/// held_quotas). The id's next request then settles them.
void Settlement::settle(const Due& due) {
    const QuotaCache::Held& held = due.held;
    AcquireRequest request;
    request.quotas = quotas_of(held);
    if (!request.quotas || (due.id.empty() && due.has_ended)) {
        LockedZone(engine_.zone()).quotas().drop(held);
    } else if (!due.id.empty()) {
        request.id = due.id;
        request.id_hash = held.id;
        request.api_key = held.api_key;
        engine_.acquires().settle(request);
    }
}

/// The quotas of one table that are counted as the held one; nullptr if the configuration has no
/// such table any more.
std::shared_ptr<const Quotas> Settlement::quotas_of(const QuotaCache::Held& held) {
    const auto is_same = [&](const auto& known) {
        const TableQuota& quota = known->front();
        return quota.table_id == held.table && WindowLayout(quota) == held.layout &&
               quota.rates == held.quota(quota.table).rates;
    };
    const auto known = std::ranges::find_if(quotas_, is_same);
    if (known != quotas_.end()) {
        return *known;
    }
    const auto tables = engine_.tables();
    const auto served = std::ranges::find_if(tables, [&](const ServedTable& one) {
        return one.redis == engine_.settings().name_hash &&
               name_hash(one.table->name) == held.table;
    });
    if (served == tables.end()) {
        return nullptr;
    }
    constexpr std::size_t kMostKnown = 256;
    if (quotas_.size() == kMostKnown) {
        quotas_.clear();
    }
    TableQuota quota = held.quota(served->table->name);
    quota.policies.resize(quota.rates.size());
    return quotas_.emplace_back(std::make_shared<const Quotas>(Quotas{std::move(quota)}));
}

void Settlement::shut_down() {
    if (std::exchange(is_shutting_down_, true)) {
        return;
    }
    timer_->cancel();
    const WorkerProcess& worker = engine_.worker();
    engine_.zone().workers().erase(worker.number(), worker.process());
    if (returns_leases() && may_reach_redis()) {
        cursor_ = {};
        while (!settle(Which::kAll)) {
        }
        engine_.acquires().flush();
    }
}

bool Settlement::returns_leases() const {
    const WorkerProcess& worker = engine_.worker();
    return worker.is_exiting() &&
           !engine_.zone().workers().has_other(
               worker.process(), [&](std::uint32_t process) { return worker.is_alive(process); });
}

}  // namespace tollgate::gateway
