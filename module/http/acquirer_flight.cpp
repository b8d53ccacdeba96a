#include "module/http/acquirer_flight.hpp"

#include <algorithm>
#include <utility>

#include "module/http/loaded_states.hpp"

namespace tollgate::http {

Acquirer::Flight::Flight(Acquirer& acquirer, std::size_t lines)
    : acquirer_(acquirer), sent_(exact_steady_time()) {
    items_.reserve(lines);
    acquires_.reserve(lines);
}

void Acquirer::Flight::prepare(std::span<Line* const> lines) {
    std::vector<Line*> idle;
    idle.reserve(lines.size());
    {
        RedisClient& client = acquirer_.client_;
        const LockedZone zone(client.main());
        deadline_ = zone.redis(client.conf().name_hash)
                        .clock.deadline(sent_, client.conf().endpoint.timeout);
        for (Line* line : lines) {
            if (!add(*line, zone)) {
                idle.push_back(line);
            }
        }
    }
    std::ranges::for_each(idle, [&](Line* line) { acquirer_.land(*line); });
}

redis::Call Acquirer::Flight::call() const {
    return redis::acquire_call(acquires_, acquirer_.client_.conf().keys,
                               {.node = acquirer_.node_, .deadline = deadline_});
}

/// False where nothing is to be asked or told.
bool Acquirer::Flight::add(Line& line, const LockedZone& zone) {
    const QuotaRequest& request = line.request;
    const Quotas& quotas = *request.quotas;
    const RedisClient& client = acquirer_.client_;
    Item& item = items_.emplace_back(line);
    item.asking.take(line.waiting);
    item.count = item.asking.length();
    line.scheduled = false;
    line.in_flight = true;
    const Moment now = client.moment(zone, exact_steady_time());
    const bool returns_leases = acquirer_.client_.settlement().returns_leases();
    std::uint64_t* last_report = &zone.node().last_report;
    for (;;) {
        LoadedStates states(zone, client, request);
        if (returns_leases) {
            give_back_leases(states, quotas);
        }
        if (item.count > 0) {
            note_arrivals(states, request.demand, item.count, now.steady);
        }
        Prepared prepared = tollgate::prepare(states, quotas, request.demand, now, last_report);
        if (item.count == 0 && prepared.adjustments.empty()) {
            states.save(now.steady);
            items_.pop_back();
            return false;
        }
        Acquire& acquire = acquires_.emplace_back(acquire_for(item, prepared));
        const bool saved = states.save(now.steady);
        if (saved || last_report == nullptr) {
            // A lease is kept only where there is room for it.
            acquire.lease = saved && !returns_leases ? acquire.lease : 0;
            item.prepared = std::move(prepared);
            return true;
        }
        // There is no room for a report: what is owed stays, to be reported later.
        acquires_.pop_back();
        last_report = nullptr;
    }
}

Acquire Acquirer::Flight::acquire_for(const Item& item, const Prepared& prepared) const {
    const QuotaRequest& request = item.line->request;
    return {.id = request.id,
            .quotas = request.quotas,
            .cost = request.demand.cost,
            .count = item.count,
            .lease = item.count == 0 ? 0 : prepared.lease,
            .ban = request.demand.ban,
            .refusals_strike = request.demand.refusals_strike,
            .strikes = prepared.strikes,
            .adjustments = prepared.adjustments,
            .report_numbers = prepared.report_numbers};
}

void Acquirer::Flight::on_values(std::span<const redisReply* const> values) noexcept {
    bool is_answer = true;
    const bool done = guarded(acquirer_.client_.log(), false, [&] {
        const auto results = redis::read_acquired(values, acquires_);
        is_answer = results.has_value();
        if (!is_answer) {
            return false;
        }
        if (results->late) {
            const LockedZone zone(acquirer_.client_.main());
            zone.redis(acquirer_.client_.conf().name_hash)
                .clock.observe(sent_, exact_steady_time(), results->now);
        } else {
            take(*results);
        }
        return true;
    });
    if (!is_answer) {
        acquirer_.client_.report("unexpected reply");
    }
    if (!done) {
        end(Fate::kUnknown);
    } else if (!items_.empty()) {
        resubmit(true);
    }
}

void Acquirer::Flight::take(const redis::AcquireResults& results) {
    {
        const ExactSteadyTime received = exact_steady_time();
        const auto now = std::chrono::floor<SteadyTime>(received);
        const LockedZone zone(acquirer_.client_.main());
        zone.redis(acquirer_.client_.conf().name_hash).clock.observe(sent_, received, results.now);
        for (std::size_t i = 0; i < items_.size(); ++i) {
            if (const auto* acquired = std::get_if<Acquired>(&results.of_ids[i])) {
                take_in(items_[i], *acquired, zone, now);
            }
        }
    }
    auto items = std::exchange(items_, {});
    for (std::size_t i = 0; i < items.size(); ++i) {
        items[i].line->was_late = false;
        if (const auto* acquired = std::get_if<Acquired>(&results.of_ids[i])) {
            tell(items[i], *acquired, results.now);
            acquirer_.land(*items[i].line);
        } else {
            acquirer_.client_.on_error();
            acquirer_.client_.report(std::get<std::string_view>(results.of_ids[i]));
            give_up(items[i], Fate::kRefused);
        }
    }
}

void Acquirer::Flight::take_in(Item& item, const Acquired& acquired, const LockedZone& zone,
                               SteadyTime now) {
    RedisClient& client = acquirer_.client_;
    const QuotaRequest& request = item.line->request;
    const Quotas& quotas = *request.quotas;
    const std::int64_t cost = request.demand.cost;
    LoadedStates states(zone, client, request);
    tollgate::take_in(states, quotas, item.prepared, acquired);
    // Who was granted but has left meanwhile does not need its units.
    const std::int64_t present = std::min(acquired.granted, item.asking.length());
    const std::int64_t unused = (acquired.granted - present) * cost;
    if (unused > 0) {
        keep_unused(states, quotas, acquired, unused);
    }
    const Moment at_decision{now, acquired.now, acquired.now};
    if (present > 0) {
        item.granted = windows_of(states, quotas, at_decision, cost, false);
    }
    if (acquired.granted < item.count) {
        item.refused = windows_of(states, quotas, at_decision, cost, true);
    }
    const std::int64_t leased = acquired.lease + unused;
    const bool saved = states.save(now);
    if (leased > 0) {
        const auto units = static_cast<std::uint64_t>(leased) * quotas.size();
        client.statistics().leases.note_granted(units);
        if (!saved) {
            client.statistics().leases.lost.add(units);
        }
    }
    // The last worker of the node leaves nothing: neither a lease that came now, nor what was owed
    // beside the report that this call carried.
    if (client.settlement().returns_leases() &&
        std::ranges::any_of(std::span<const QuotaState>(states), is_held)) {
        item.line->settles_again = true;
    }
    item.is_taken = true;
}

/// Of the requests that are alike, those that came first are granted; each shows what it left.
void Acquirer::Flight::tell(Item& item, const Acquired& acquired, ExactInstant now) noexcept {
    const std::int64_t cost = item.line->request.demand.cost;
    const std::int64_t present = std::min(acquired.granted, item.asking.length());
    std::int64_t index = 0;
    item.asking.drain([&](QuotaWaiter& waiter) {
        const bool granted = index < present;
        const bool limited = !granted && index < present + acquired.limited;
        Decided decided{.answer = granted   ? LocalAnswer::kGranted
                                  : limited ? LocalAnswer::kLimited
                                            : LocalAnswer::kBanned,
                        .windows = {},
                        .now = now,
                        .banned_until = acquired.banned_until};
        const bool done = guarded(acquirer_.client_.log(), false, [&] {
            decided.windows = granted ? item.granted : item.refused;
            return item.is_taken;
        });
        if (granted) {
            for (WindowState& window : decided.windows) {
                window.remaining += (present - 1 - index) * cost;
            }
        }
        ++index;
        done ? waiter.on_decided(std::move(decided)) : waiter.on_unavailable();
    });
}

void Acquirer::Flight::on_error(std::string_view message) noexcept {
    if (message.starts_with("CROSSSLOT") && items_.size() > 1) {
        // This Redis is a cluster's: it decides one id a call.
        acquirer_.most_a_call_ = 1;
        resubmit(false);
        return;
    }
    acquirer_.client_.report(message);
    end(Fate::kRefused);
}

/// Asks once more; nothing was decided.
void Acquirer::Flight::resubmit(bool was_late) noexcept {
    auto items = std::exchange(items_, {});
    for (Item& item : items) {
        Line& line = *item.line;
        if (was_late && std::exchange(line.was_late, true)) {
            line.was_late = false;
            give_up(item, Fate::kRefused);
            continue;
        }
        restore(item, Fate::kRefused);
        line.in_flight = false;
        item.asking.take(line.waiting);
        line.waiting.take(item.asking);
        acquirer_.schedule_or_give_up(line);
    }
}

void Acquirer::Flight::restore(const Item& item, Fate fate) noexcept {
    guarded(acquirer_.client_.log(), false, [&] {
        const QuotaRequest& request = item.line->request;
        const LockedZone zone(acquirer_.client_.main());
        LoadedStates states(zone, acquirer_.client_, request);
        tollgate::restore(states, *request.quotas, item.prepared, fate);
        return states.save(steady_time());
    });
}

void Acquirer::Flight::give_up(Item& item, Fate fate) noexcept {
    restore(item, fate);
    item.asking.drain([](QuotaWaiter& waiter) { waiter.on_unavailable(); });
    acquirer_.land(*item.line);
}

void Acquirer::Flight::end(Fate fate) noexcept {
    auto items = std::exchange(items_, {});
    std::ranges::for_each(items, [&](Item& item) { give_up(item, fate); });
}

}  // namespace tollgate::http
