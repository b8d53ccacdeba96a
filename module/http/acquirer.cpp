#include "module/http/acquirer.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "module/http/acquirer_flight.hpp"
#include "module/http/clock.hpp"
#include "module/http/redis_client.hpp"

namespace tollgate::http {

namespace {

/// How often it is looked for what is to be settled, and how many ids a time.
constexpr ngx_msec_t kSettleEvery = 250;
constexpr ngx_msec_t kSettleSoon = 10;
constexpr std::size_t kSettledAtOnce = 1024;

}  // namespace

template <void (Acquirer::*Method)()>
void Acquirer::call() noexcept {
    guarded(client_.log(), false, [&] {
        (this->*Method)();
        return true;
    });
}

Acquirer::Acquirer(RedisClient& client)
    : client_(client),
      departure_(redis::Event::calling<&Acquirer::call<&Acquirer::depart>>(this, client.log())),
      settlement_(redis::Event::calling<&Acquirer::call<&Acquirer::settle>>(this, client.log())) {
    settlement_.let_shutdown_pass(true);
}

Acquirer::Key Acquirer::key_of(const QuotaRequest& request) {
    return {request.id_hash, request.quotas.get(), request.demand.cost,
            request.demand.refusals_strike};
}

Acquirer::Line& Acquirer::line_of(const QuotaRequest& request) {
    return lines_.try_emplace(key_of(request), request).first->second;
}

void Acquirer::submit(QuotaWaiter& waiter, const QuotaRequest& request) {
    Line& line = line_of(request);
    line.waiting.push(waiter);
    schedule(line);
}

void Acquirer::schedule(Line& line) {
    if (line.scheduled || line.in_flight) {
        return;
    }
    turn_.push_back(&line);
    line.scheduled = true;
    departure_.post();
}

void Acquirer::depart() {
    const auto lines = std::exchange(turn_, {});
    for (auto rest = std::span(lines); !rest.empty();) {
        const auto length = std::min(rest.size(), most_a_call_);
        send(rest.first(length));
        rest = rest.subspan(length);
    }
}

void Acquirer::send(std::span<Line* const> lines) {
    auto flight = std::make_unique<Flight>(*this, lines.size());
    {
        const LockedZone zone(client_.main());
        for (Line* line : lines) {
            flight->add(*line, zone);
        }
    }
    auto call = flight->call();
    // Where Redis is out of reach, the flight ends here and tells those who wait.
    client_.statistics().acquires.add();
    client_.connection().run(std::move(call), std::move(flight));
}

/// What was asked for the line is answered. Those who came meanwhile try again: a lease may serve
/// them.
void Acquirer::land(Line& line) {
    line.in_flight = false;
    QuotaQueue waiting;
    waiting.take(line.waiting);
    waiting.drain([](QuotaWaiter& waiter) { waiter.on_retry(); });
    if (!line.scheduled && !line.in_flight) {
        lines_.erase(key_of(line.request));
    }
}

void Acquirer::settle_later(const QuotaRequest& request) {
    to_settle_.try_emplace(key_of(request), request);
    settle_in(kSettleEvery);
}

void Acquirer::settle_in(ngx_msec_t delay) {
    if (!settlement_.is_running()) {
        settlement_.start(returns_all_ ? kSettleSoon : delay);
    }
}

void Acquirer::settle_all() {
    returns_all_ = true;
    // The worker's exit waits for what is on its way, which is counted from now on.
    settlement_.let_shutdown_pass(false);
    settle();
    depart();
}

void Acquirer::settle() {
    if (!client_.connection().is_reachable()) {
        if (returns_all_) {
            to_settle_.clear();
        } else if (!to_settle_.empty()) {
            settle_in(kSettleEvery);
        }
        return;
    }
    std::size_t settled = 0;
    for (auto place = to_settle_.begin(); place != to_settle_.end() && settled < kSettledAtOnce;) {
        const QuotaRequest& request = place->second;
        bool needed = false;
        bool later = false;
        {
            const LockedZone zone(client_.main());
            LoadedStates states(zone, client_, request.id_hash, *request.quotas);
            const Moment now = client_.moment(zone, steady_time());
            later = may_need_settling(states);
            needed = returns_all_ ? later : needs_settling(states, now);
        }
        if (needed) {
            schedule(line_of(request));
            ++settled;
        }
        place = later ? std::next(place) : to_settle_.erase(place);
    }
    if (!to_settle_.empty()) {
        settle_in(settled == kSettledAtOnce ? kSettleSoon : kSettleEvery);
    }
}

}  // namespace tollgate::http
