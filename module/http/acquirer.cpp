#include "module/http/acquirer.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "module/http/acquirer_flight.hpp"
#include "module/http/redis_client.hpp"

namespace tollgate::http {

Acquirer::Acquirer(RedisClient& client)
    : client_(client),
      node_(report_node(client.main())),
      departure_(redis::Event::calling<&Acquirer::depart>(this, client.log())) {}

Acquirer::Key Acquirer::key_of(const QuotaRequest& request) {
    return {request.id_hash, request.quotas.get(), request.demand.cost,
            request.demand.refusals_strike};
}

Acquirer::Line& Acquirer::line_of(const QuotaRequest& request) {
    return lines_.try_emplace(key_of(request), request).first->second;
}

void Acquirer::submit(QuotaWaiter& waiter, const QuotaRequest& request) {
    Line& line = line_of(request);
    schedule(line);
    line.waiting.push(waiter);
}

void Acquirer::settle(const QuotaRequest& request) {
    schedule(line_of(request));
}

void Acquirer::schedule(Line& line) {
    if (line.scheduled || line.in_flight) {
        return;
    }
    turn_.push_back(&line);
    line.scheduled = true;
    departure_.post();
}

void Acquirer::schedule_or_give_up(Line& line) noexcept {
    const bool done = guarded(client_.log(), false, [&] {
        schedule(line);
        return true;
    });
    if (!done) {
        give_up(line);
    }
}

void Acquirer::depart() noexcept {
    departure_.cancel();
    const auto lines = std::exchange(turn_, {});
    for (auto rest = std::span(lines); !rest.empty();) {
        const auto some = rest.first(std::min(rest.size(), most_a_call_));
        send(some);
        rest = rest.subspan(some.size());
    }
}

void Acquirer::send(std::span<Line* const> lines) noexcept {
    std::unique_ptr<Flight> flight;
    redis::Call call;
    const bool ready = guarded(client_.log(), false, [&] {
        flight = std::make_unique<Flight>(*this, lines.size());
        flight->prepare(lines);
        call = flight->call();
        return true;
    });
    if (!ready) {
        if (flight) {
            flight->end(Fate::kRefused);
        }
        for (Line* line : lines) {
            if (line->scheduled) {
                give_up(*line);
            }
        }
    } else if (!flight->empty()) {
        client_.statistics().acquires.add();
        client_.connection().run(std::move(call), std::move(flight));
    }
}

/// The line has an answer. Requests that came meanwhile try again: a lease may serve them.
void Acquirer::land(Line& line) noexcept {
    line.in_flight = false;
    QuotaQueue waiting;
    waiting.take(line.waiting);
    waiting.drain([](QuotaWaiter& waiter) { waiter.on_retry(); });
    if (std::exchange(line.settles_again, false)) {
        schedule_or_give_up(line);
    } else if (!line.scheduled && !line.in_flight) {
        lines_.erase(key_of(line.request));
    }
}

/// The line can't be asked for.
void Acquirer::give_up(Line& line) noexcept {
    line.scheduled = false;
    QuotaQueue waiting;
    waiting.take(line.waiting);
    waiting.drain([](QuotaWaiter& waiter) { waiter.on_unavailable(); });
    lines_.erase(key_of(line.request));
}

}  // namespace tollgate::http
