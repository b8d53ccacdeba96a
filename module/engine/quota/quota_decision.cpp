#include "module/engine/quota/quota_decision.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "module/engine/engine.hpp"
#include "module/quota/cost_settlement.hpp"
#include "module/quota/lease.hpp"
#include "module/quota/local_decision.hpp"
#include "module/quota/plain_acquire.hpp"
#include "module/quota/shown_windows.hpp"
#include "module/text/name_hash.hpp"

namespace tollgate::engine {

namespace {

/// The values of a request.
class RequestValues {
  public:
    /// Asks for those in the tables at these positions. Throws std::bad_alloc.
    RequestValues(std::span<const std::size_t> tables, ValueSource& source) {
        // One table needs no allocation.
        if (tables.size() == 1) {
            text_ = source.value(tables.front());
            return;
        }
        for (const std::size_t table : tables) {
            const std::string_view value = several_.emplace_back(source.value(table));
            joined_.append(std::to_string(value.size())).append(":").append(value);
        }
        text_ = joined_;
    }

    /// Stands for all values: others have another one.
    std::string_view text() const { return text_; }
    /// The values in these tables, which are those of the constructor.
    std::vector<TableValue> in(std::span<const PlanTable* const> tables,
                               std::span<const std::size_t> positions) const {
        std::vector<TableValue> values;
        for (std::size_t i = 0; i < positions.size(); ++i) {
            values.push_back({name_hash(tables[positions[i]]->name),
                              positions.size() == 1 ? text_ : several_[i]});
        }
        return values;
    }

  private:
    std::vector<std::string_view> several_;
    std::string joined_;
    std::string_view text_;
};

}  // namespace

bool QuotaDecision::choose(const std::shared_ptr<const KeyRecord>& record, ValueSource& values) {
    record_ = record.get();
    request_.id = record->id;
    request_.group = record->group;
    request_.id_hash = key_.id();
    request_.api_key = key_.key().hash();
    request_.place = key_.known() != nullptr ? key_.known()->place : TablePosition{};
    if (group_.record() != nullptr) {
        choose_with_group(*record);
    }
    if (!tables_.counting_values().empty()) {
        choose_by_values(record, values);
    } else if (group_.record() == nullptr) {
        request_.quotas = quotas_of_key();
    }
    return request_.quotas != nullptr;
}

/// The quotas of a key that has no group, or whose group is not needed, without the quotas that
/// are counted by values.
std::shared_ptr<const Quotas> QuotaDecision::quotas_of_key() const {
    const KnownKey* known = key_.known();
    return known != nullptr ? known->quotas : tables_.quotas_of(*record_);
}

/// A known key keeps the quotas of both, as long as both records are current.
void QuotaDecision::choose_with_group(const KeyRecord& record) {
    KnownKey* known = key_.known();
    request_.group_hash = group_.id();
    request_.group_key = group_.key().hash();
    if (known != nullptr && known->group == group_.record()) {
        request_.quotas = known->quotas;
        return;
    }
    request_.quotas = tables_.quotas_of(record, group_.record().get());
    if (known != nullptr && request_.quotas) {
        engine().slices().end(*known);
        known->quotas = request_.quotas;
        known->refusal = {};
        known->checked = std::min(known->checked, group_.checked());
        known->group = group_.record();
        known->group_key = group_.key();
        known->group_id = group_.id();
    }
}

/// A known key with the values of a known request has an entry of its own, with a slice and a
/// refusal of its own.
void QuotaDecision::choose_by_values(const std::shared_ptr<const KeyRecord>& record,
                                     ValueSource& source) {
    const auto positions = tables_.counting_values();
    const RequestValues values(positions, source);
    const KnownKey* key = key_.known();
    KnownValues& entries = engine().known_values();
    if (key != nullptr) {
        KnownKey* known = entries.find(*key, values.text());
        if (known != nullptr && known->record == record && known->group == key->group) {
            key_.set_known(*known);
            request_.quotas = known->quotas;
            request_.place = known->place;
            return;
        }
    }
    if (group_.record() == nullptr) {
        request_.quotas = quotas_of_key();
    }
    if (!request_.quotas) {
        return;
    }
    request_.quotas = std::make_shared<const Quotas>(
        with_values(*request_.quotas, values.in(tables_.tables(), positions)));
    if (key != nullptr) {
        const TokenHash token = entries.token_of(*key, values.text());
        KnownKey& known = entries.place_for(token, tables_);
        engine().slices().end(known);
        known = {.token = token,
                 .tables = &tables_,
                 .key = key->key,
                 .record = record,
                 .id = key->id,
                 .quotas = request_.quotas,
                 .statistics = key->statistics,
                 .checked = key->checked,
                 .touched = key->touched,
                 .used = key->used,
                 .slice = {},
                 .refusal = {},
                 .group = key->group,
                 .group_key = key->group_key,
                 .group_id = key->group_id};
        key_.set_known(known);
    }
}

void QuotaDecision::set_demand(std::int64_t cost, bool refusals_strike, bool settles) {
    request_.demand.cost = cost;
    request_.demand.settles = settles;
    // A key without limits is never refused, also if its units are counted.
    request_.demand.ban = have_limit(*request_.quotas) ? tables_.ban() : std::nullopt;
    request_.demand.refusals_strike = refusals_strike;
}

bool QuotaDecision::is_only_counted() const {
    return request_.quotas && !request_.quotas->empty() && !have_limit(*request_.quotas);
}

Decision QuotaDecision::decide(ExactSteadyTime time) {
    KnownKey* known = key_.known();
    if (known != nullptr) {
        const Demand& demand = request_.demand;
        if (demand.cost > 0 ? known->slice.spend(demand.cost, time)
                            : demand.room() > 0 && known->slice.has_unit(time)) {
            return take_from_slice(*known, time);
        }
        if (known->refusal.applies_to(request_.demand, time)) {
            return repeat(known->refusal, time);
        }
    }
    request_.demand.changed = last_change();
    if (needs_only_redis()) {
        return {};
    }
    Decision decision = decide_in_zone(known, clock_bounds(time));
    if (known != nullptr) {
        known->is_plain = request_.is_plain;
    }
    if (std::exchange(is_renewal_due_, false)) {
        renew_lease();
    }
    return decision;
}

/// The time of the last change of the key, of its id, or of its group, whichever is latest.
SteadyTime QuotaDecision::last_change() const {
    const Zone& zone = engine().zone();
    const SteadyTime of_key =
        key_.known() != nullptr
            ? key_.changed()
            : zone.last_change(key_.key().redis, key_.key().digest, request_.id_hash);
    return request_.group_key == 0 ? of_key
                                   : std::max(of_key, zone.last_change_of(request_.group_key));
}

Decision QuotaDecision::decide_in_zone(KnownKey* known, const ClockBounds& now) {
    const LockedStripe stripe(engine().zone(), request_.id_hash);
    LoadedStates states(stripe, engine(), request_);
    note_place(states.place());
    const bool is_changed = known != nullptr && return_slice(*known, states, now.steady);
    Decision decision = decide(states, known, is_changed, now);
    is_renewal_due_ = decision.answer == LocalAnswer::kGranted &&
                      renewal_size(states, *request_.quotas, request_.demand, now) > 0;
    if (decision.answer == LocalAnswer::kAsk && is_changed) {
        states.save(now.steady);
    }
    if (decision.answer == LocalAnswer::kAsk && counts_alone()) {
        return count_alone(states, now);  // The states are loaded, under the lock.
    }
    return decision;
}

/// The next requests of the key look there first, and what follows of this one.
void QuotaDecision::note_place(TablePosition place) {
    request_.place = place;
    if (KnownKey* const known = key_.known()) {
        known->place = place;
    }
}

/// Whether it is certain, without loading the quota, that decide_in_zone() would answer
/// LocalAnswer::kAsk and change nothing. Most keys are rare: this is tried for keys that the worker
/// does not know or that were plain before, and takes less than half of the time.
bool QuotaDecision::needs_only_redis() {
    const KnownKey* const known = key_.known();
    if ((known != nullptr && (!known->is_plain || known->refusal.has_repeated())) ||
        request_.quotas->size() != 1 || request_.demand.ban ||
        !engine().transport().is_reachable(engine().slot_of(request_.slot_text()))) {
        return false;
    }
    const TableQuota& quota = request_.quotas->front();
    const QuotaCache::Key key = request_.place_of(quota, engine().settings().name_hash);
    if (!key.is_small) {
        return false;
    }
    TablePosition place = request_.place;
    {
        const LockedStripe stripe(engine().zone(), request_.id_hash);
        request_.is_plain = stripe.quotas().is_plain(key, quota, request_.demand.cost, place);
    }
    note_place(place);
    return request_.is_plain;
}

Decision QuotaDecision::decide_again() {
    const ClockBounds now = clock_bounds(engine().clock().steady());
    const LockedStripe stripe(engine().zone(), request_.id_hash);
    LoadedStates states(stripe, engine(), request_);
    return decide(states, nullptr, false, now);
}

Decision QuotaDecision::look() const {
    const ClockBounds time = clock_bounds(engine().clock().steady());
    const LockedStripe stripe(engine().zone(), request_.id_hash);
    const LoadedStates states(stripe, engine(), request_);
    const ClockBounds now = no_earlier_than_replies(time, states);
    Decision shown;
    shown.windows = windows_of(states, *request_.quotas, now, request_.demand.cost, false);
    shown.now = now.exact;
    return shown;
}

Decision QuotaDecision::decide_alone() {
    const ClockBounds now = clock_bounds(engine().clock().steady());
    const LockedStripe stripe(engine().zone(), request_.id_hash);
    LoadedStates states(stripe, engine(), request_);
    note_place(states.place());
    return count_alone(states, now);
}

/// The bounds of the clock that counts the id's quotas. Not to be called with a lock of the zone:
/// the clock of a master that is new to this worker is found under another one.
ClockBounds QuotaDecision::clock_bounds(ExactSteadyTime time) const {
    return engine().clock_bounds(engine().slot_of(request_.slot_text()), time);
}

Decision QuotaDecision::take_from_slice(const KnownKey& known, ExactSteadyTime now) const {
    RedisStatistics& statistics = engine().statistics();
    statistics["quota_decisions.lease"].add();
    statistics["lease_units.spent"].add(static_cast<std::uint64_t>(request_.demand.cost) *
                                        request_.quotas->size());
    Decision decision{.answer = LocalAnswer::kGranted,
                      .windows = known.slice.windows(),
                      .now = known.slice.redis_time(now),
                      .banned_until = {}};
    if (request_.demand.settles) {
        decision.counting = known.slice.counting();
    }
    return decision;
}

Decision QuotaDecision::repeat(RecentRefusal& refusal, ExactSteadyTime now) const {
    engine().statistics()["quota_decisions.refusal"].add();
    refusal.repeat();
    return {.answer = refusal.answer(),
            .windows = {refusal.windows().begin(), refusal.windows().end()},
            .now = refusal.redis_time(now),
            .banned_until = refusal.banned_until()};
}

/// Returns the worker's slice, and adds the refusals that the worker has repeated. False if there
/// is nothing of both.
bool QuotaDecision::return_slice(KnownKey& known, LoadedStates& states, SteadyTime now) const {
    const std::int64_t refused = known.refusal.take_count();
    if (refused == 0 && !known.slice.is_taken()) {
        return false;
    }
    if (refused > 0) {
        note_arrivals(states, *request_.quotas, request_.demand, refused, now);
    }
    known.slice.end(states, *request_.quotas, request_.demand, now);
    return true;
}

/// Lets the worker decide the next requests of a known key in its own memory: from a slice of the
/// lease that has granted this one, or by repeating the refusal.
/// `is_changed`: what is loaded has changed since.
Decision QuotaDecision::decide(LoadedStates& states, KnownKey* known, bool is_changed,
                               const ClockBounds& now) {
    const LocalAnswer answer = tollgate::decide(states, *request_.quotas, request_.demand, now);
    if (answer == LocalAnswer::kAsk) {
        request_.is_plain = is_plain(states, *request_.quotas, request_.demand);
        return {};  // The acquire notes the arrival.
    }
    Decision decision = describe(answer, states, now);
    note_arrivals(states, *request_.quotas, request_.demand, 1, now.steady);
    if (known != nullptr) {
        ClockBounds shown = now;
        shown.exact = decision.now;
        if (answer == LocalAnswer::kGranted) {
            engine().slices().take(*known, states, decision.windows, shown);
        } else {
            known->refusal.set(answer, request_.demand, states, decision.windows, shown);
        }
    }
    const bool has_slice = known != nullptr && known->slice.is_taken();
    if (answer == LocalAnswer::kGranted && !is_changed && !has_slice) {
        states.save_spent(now.steady);
    } else {
        states.save(now.steady);
    }
    RedisStatistics& statistics = engine().statistics();
    (answer == LocalAnswer::kGranted ? statistics["quota_decisions.lease"]
                                     : statistics["quota_decisions.refusal"])
        .add();
    return decision;
}

/// A request that comes later does not wait for Redis. A worker that is exiting waits for its last
/// calls, but not for a renewal.
void QuotaDecision::renew_lease() const noexcept {
    if (!engine().worker().is_exiting() &&
        engine().transport().is_reachable(engine().slot_of(request_.slot_text()))) {
        engine().acquires().renew_lease(request_);
    }
}

/// Whether the node decides this request alone if Redis has to.
bool QuotaDecision::counts_alone() const {
    return key_.is_trusted() &&
           (engine().settings().on_failure == FailurePolicy::kLocal || is_only_counted()) &&
           !engine().transport().is_reachable(engine().slot_of(request_.slot_text()));
}

Decision QuotaDecision::count_alone(LoadedStates& states, const ClockBounds& now) {
    // Without `on_failure local`, the nodes do not count themselves.
    states.share_among(is_only_counted() ? 1 : NodeHeartbeat::nodes(engine()));
    note_arrivals(states, *request_.quotas, request_.demand, 1, now.steady);
    const auto answer = tollgate::decide_alone(states, *request_.quotas, request_.demand, now);
    Decision decision = describe(answer, states, now);
    decision.is_alone = true;
    if (answer != LocalAnswer::kGranted) {
        states.save(now.steady);
    } else if (!states.save_all_or_none(now.steady)) {
        return {};
    }
    engine().statistics()["quota_decisions.alone"].add();
    return decision;
}

Decision QuotaDecision::describe(LocalAnswer answer, const LoadedStates& states,
                                 const ClockBounds& time) const {
    const std::span<const QuotaState> shown = states;
    const ClockBounds now = no_earlier_than_replies(time, shown);
    const Quotas& quotas = *request_.quotas;
    const std::int64_t room = request_.demand.room();
    const bool is_granted = answer == LocalAnswer::kGranted;
    Decision decision{.answer = answer,
                      .windows = is_granted ? granted_windows(shown, quotas, now.earliest, room)
                                            : windows_of(shown, quotas, now, room, true),
                      .now = now.exact,
                      .banned_until = shown.front().ban.until};
    if (request_.demand.settles && is_granted) {
        decision.counting = counting_windows(shown, quotas, time);
    }
    return decision;
}

void QuotaDecision::settle(std::shared_ptr<const Quotas> quotas,
                           std::span<const WindowCount> counting, std::int64_t units) const {
    AcquireRequest request = request_;
    request.quotas = std::move(quotas);
    const ClockBounds now = clock_bounds(engine().clock().steady());
    const std::uint32_t redis = engine().settings().name_hash;
    {
        const LockedStripe stripe(engine().zone(), request.id_hash);
        LoadedStates states(stripe, engine(), request);
        const SteadyTime recalled = engine().zone().last_recall(
            redis, request.id_hash, request.id_of_group(), *request.quotas);
        settle_cost(states, *request.quotas, counting, units,
                    is_recalled(*request.quotas, recalled, now), now);
        states.save(now.steady);
    }
    engine().settlement().settle_if_left(request);
}

}  // namespace tollgate::engine
