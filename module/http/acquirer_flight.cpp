#include "module/http/acquirer_flight.hpp"

#include <algorithm>
#include <utility>

namespace tollgate::http {

void Acquirer::Flight::add(Line& line, const LockedZone& zone) {
    const auto& [id, id_hash, quotas, demand] = static_cast<const QuotaRequest&>(line.request);
    Item& item = items_.emplace_back(line);
    item.asking.take(line.waiting);
    item.count = item.asking.length();
    line.scheduled = false;
    line.in_flight = true;
    const Moment now = acquirer_.client_.moment(zone, steady_time());
    LoadedStates states(zone, acquirer_.client_, id_hash, *quotas);
    if (acquirer_.returns_all_) {
        give_back_leases(states, *quotas);
    }
    if (item.count > 0) {
        note_arrivals(states, demand, item.count, now.steady);
    }
    item.tidings = prepare(states, *quotas, demand, now);
    states.save(now.steady);
    acquires_.push_back(
        {.id = id,
         .quotas = quotas,
         .cost = demand.cost,
         .count = item.count,
         .lease = item.count == 0 || acquirer_.returns_all_ ? 0 : item.tidings.lease,
         .ban = demand.ban,
         .refusals_strike = demand.refusals_strike,
         .strikes = item.tidings.strikes,
         .adjustments = item.tidings.adjustments});
}

void Acquirer::Flight::on_values(std::span<const redisReply* const> values) noexcept {
    const bool done = guarded(acquirer_.client_.log(), false, [&] {
        note_settled();
        const auto results = redis::read_acquired(values, acquires_);
        if (results) {
            take(*results);
        }
        return results.has_value();
    });
    if (!done) {
        on_error("unexpected reply");
    }
}

void Acquirer::Flight::take(const redis::AcquireResults& results) {
    {
        const SteadyTime now = steady_time();
        const LockedZone zone(acquirer_.client_.main());
        zone.redis(acquirer_.client_.conf().name_hash).clock.observe(sent_, now, results.now);
        for (std::size_t i = 0; i < items_.size(); ++i) {
            if (const auto* acquired = std::get_if<Acquired>(&results.of_ids[i])) {
                take_in(items_[i], *acquired, zone, now);
            }
        }
    }
    auto items = std::exchange(items_, {});
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (const auto* acquired = std::get_if<Acquired>(&results.of_ids[i])) {
            tell(items[i], *acquired);
        } else {
            refuse(items[i], std::get<std::string_view>(results.of_ids[i]));
        }
        acquirer_.land(*items[i].line);
    }
}

void Acquirer::Flight::take_in(Item& item, const Acquired& acquired, const LockedZone& zone,
                               SteadyTime now) {
    const auto& request = item.line->request;
    if (acquired.lease > 0) {
        acquirer_.client_.statistics().leases.note_granted(
            static_cast<std::uint64_t>(acquired.lease));
    }
    LoadedStates states(zone, acquirer_.client_, request.id_hash, *request.quotas);
    tollgate::take_in(states, *request.quotas, acquired);
    states.save(now);
    const Moment at_decision{now, acquired.now, acquired.now};
    const std::int64_t cost = request.demand.cost;
    if (acquired.granted > 0) {
        item.granted = windows_of(states, *request.quotas, at_decision, cost, false);
    }
    if (acquired.granted < item.count) {
        item.refused = windows_of(states, *request.quotas, at_decision, cost, true);
    }
    if (may_need_settling(states)) {
        acquirer_.settle_later(request);
    }
}

/// Redis has the adjustments.
void Acquirer::Flight::note_settled() const {
    auto& statistics = acquirer_.client_.statistics();
    for (const auto& item : items_) {
        const auto [returned, owed] = item.adjusted();
        statistics.leases.returned.add(returned);
        statistics.settled.add(owed);
    }
}

/// Of the requests that are alike, those that came first are granted; each shows what it left.
void Acquirer::Flight::tell(Item& item, const Acquired& acquired) {
    const std::int64_t cost = item.line->request.demand.cost;
    const bool is_one = item.count == 1;
    std::int64_t index = 0;
    item.asking.drain([&](QuotaWaiter& waiter) {
        const bool granted = index < acquired.granted;
        const bool limited = !granted && index < acquired.granted + acquired.limited;
        auto& windows = granted ? item.granted : item.refused;
        Decided decided{.answer = granted   ? LocalAnswer::kGranted
                                  : limited ? LocalAnswer::kLimited
                                            : LocalAnswer::kBanned,
                        .windows = is_one ? std::exchange(windows, {}) : windows,
                        .now = acquired.now,
                        .banned_until = acquired.banned_until};
        if (granted) {
            for (WindowState& window : decided.windows) {
                window.remaining += (acquired.granted - 1 - index) * cost;
            }
        }
        ++index;
        waiter.on_decided(std::move(decided));
    });
}

/// Redis has an error for this id, or for the whole call.
void Acquirer::Flight::refuse(Item& item, std::string_view message) {
    acquirer_.client_.report(message);
    disappoint(item);
}

/// It isn't decided: those who asked must do without.
void Acquirer::Flight::disappoint(Item& item) {
    restore(item);
    item.asking.drain([](QuotaWaiter& waiter) { waiter.on_unavailable(); });
}

void Acquirer::Flight::restore(const Item& item) {
    const auto& request = item.line->request;
    const LockedZone zone(acquirer_.client_.main());
    LoadedStates states(zone, acquirer_.client_, request.id_hash, *request.quotas);
    acquirer_.client_.statistics().leases.lost.add(item.adjusted().first);
    tollgate::restore(states, *request.quotas, item.tidings);
    states.save(steady_time());
    // A worker that ends has tried once: Redis may refuse for ever.
    if (may_need_settling(states) && !acquirer_.returns_all_) {
        acquirer_.settle_later(request);
    }
}

void Acquirer::Flight::on_error(std::string_view message) noexcept {
    guarded(acquirer_.client_.log(), false, [&] {
        if (message.starts_with("CROSSSLOT") && items_.size() > 1) {
            acquirer_.most_a_call_ = 1;
            resubmit();
            return true;
        }
        for (auto& item : std::exchange(items_, {})) {
            refuse(item, message);
            acquirer_.land(*item.line);
        }
        return true;
    });
}

/// This Redis is a cluster's: it decides one id a call.
void Acquirer::Flight::resubmit() {
    for (auto& item : std::exchange(items_, {})) {
        restore(item);
        Line& line = *item.line;
        line.in_flight = false;
        line.waiting.take(item.asking);
        acquirer_.schedule(line);
    }
}

void Acquirer::Flight::fail() noexcept {
    guarded(acquirer_.client_.log(), false, [&] {
        for (auto& item : std::exchange(items_, {})) {
            disappoint(item);
            acquirer_.land(*item.line);
        }
        return true;
    });
}

}  // namespace tollgate::http
