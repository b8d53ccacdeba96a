#include "module/http/acquirer.hpp"

#include <algorithm>
#include <exception>
#include <span>
#include <utility>

#include "module/http/clock.hpp"
#include "module/http/redis_client.hpp"
#include "module/redis/acquire.hpp"

namespace tollgate::http {

namespace {

/// How often it is looked for what is to be settled, and how many ids a time.
constexpr ngx_msec_t kSettleEvery = 250;
constexpr ngx_msec_t kSettleSoon = 10;
constexpr std::size_t kSettledAtOnce = 1024;

/// Calls `use` with each waiter, which may leave, or wait elsewhere, meanwhile.
template <typename Use>
void drain(ngx_queue_t& queue, Use use) {
    while (!ngx_queue_empty(&queue)) {
        use(ngx_queue_head(&queue));
    }
}

void move_all(ngx_queue_t& from, ngx_queue_t& to) {
    ngx_queue_init(&to);
    if (!ngx_queue_empty(&from)) {
        ngx_queue_add(&to, &from);
        ngx_queue_init(&from);
    }
}

std::int64_t length_of(ngx_queue_t& queue) {
    std::int64_t length = 0;
    for (auto* link = ngx_queue_head(&queue); link != ngx_queue_sentinel(&queue);
         link = ngx_queue_next(link)) {
        ++length;
    }
    return length;
}

}  // namespace

/// One call: what is asked for which lines, and who waits for it.
class Acquirer::Flight : public redis::ReplyHandler {
  public:
    explicit Flight(Acquirer& acquirer) : acquirer_(acquirer), sent_(steady_time()) {}
    ~Flight() override { fail(); }
    Flight(const Flight&) = delete;
    Flight& operator=(const Flight&) = delete;

    void add(Line& line, const LockedZone& zone);
    redis::ScriptCall call() const {
        return redis::acquire_call(acquires_, acquirer_.client_.conf().keys);
    }
    void on_values(std::span<const redisReply* const> values) noexcept override;
    void on_error(std::string_view message) noexcept override;
    void on_failure() noexcept override { fail(); }

  private:
    struct Item {
        explicit Item(Line& asked) : line(&asked) { ngx_queue_init(&asking); }

        /// The units that the adjustments give back, and those that they add.
        std::pair<std::uint64_t, std::uint64_t> adjusted() const {
            std::int64_t least = 0;
            std::int64_t most = 0;
            for (const Adjustment& adjustment : tidings.adjustments) {
                least = std::min(least, adjustment.units);
                most = std::max(most, adjustment.units);
            }
            return {static_cast<std::uint64_t>(-least), static_cast<std::uint64_t>(most)};
        }

        Line* line;
        Tidings tidings;
        ngx_queue_t asking{};
        std::int64_t count = 0;            ///< of those who ask
        std::vector<WindowState> granted;  ///< what the last one that is granted leaves
        std::vector<WindowState> refused;  ///< what the others find
    };

    void take(std::vector<redis::AcquireResult>& results);
    void note_settled() const;
    void take_in(Item& item, const Acquired& acquired, const LockedZone& zone, SteadyTime now);
    void tell(Item& item, const Acquired& acquired);
    void refuse(Item& item, std::string_view message);
    void restore(const Item& item);
    void fail() noexcept;
    void resubmit();

    Acquirer& acquirer_;
    SteadyTime sent_;
    std::vector<std::unique_ptr<Item>> items_;  ///< apart, since queues can't be moved
    std::vector<Acquire> acquires_;             ///< one an item
};

void Acquirer::Flight::add(Line& line, const LockedZone& zone) {
    const auto& [id, id_hash, quotas, demand] = line.request;
    Item& item = *items_.emplace_back(std::make_unique<Item>(line));
    item.count = length_of(line.waiting);
    move_all(line.waiting, item.asking);
    line.scheduled = false;
    line.in_flight = true;
    const Moment now = acquirer_.client_.moment(zone, steady_time());
    LoadedStates states(zone, acquirer_.client_, id_hash, *quotas);
    if (acquirer_.returns_all_) {
        give_back_leases(states, *quotas);
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
        auto results = redis::read_acquired(values, acquires_);
        if (results) {
            take(*results);
        }
        return results.has_value();
    });
    if (!done) {
        on_error("unexpected reply");
    }
}

void Acquirer::Flight::take(std::vector<redis::AcquireResult>& results) {
    {
        const SteadyTime now = steady_time();
        const LockedZone zone(acquirer_.client_.main());
        for (std::size_t i = 0; i < items_.size(); ++i) {
            if (const auto* acquired = std::get_if<Acquired>(&results[i])) {
                take_in(*items_[i], *acquired, zone, now);
            }
        }
    }
    auto items = std::exchange(items_, {});
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (const auto* acquired = std::get_if<Acquired>(&results[i])) {
            tell(*items[i], *acquired);
        } else {
            refuse(*items[i], std::get<std::string_view>(results[i]));
        }
        acquirer_.land(*items[i]->line);
    }
}

void Acquirer::Flight::take_in(Item& item, const Acquired& acquired, const LockedZone& zone,
                               SteadyTime now) {
    const auto& request = item.line->request;
    zone.redis(acquirer_.client_.conf().name_hash).clock.observe(sent_, now, acquired.now);
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
        const auto [returned, owed] = item->adjusted();
        statistics.leases.returned.add(returned);
        statistics.settled.add(owed);
    }
}

/// Of the requests that are alike, those that came first are granted; each shows what it left.
void Acquirer::Flight::tell(Item& item, const Acquired& acquired) {
    const std::int64_t cost = item.line->request.demand.cost;
    std::int64_t index = 0;
    drain(item.asking, [&](ngx_queue_t* link) {
        QuotaWaiter& waiter = QuotaWaiter::at(link);
        waiter.leave();
        const bool granted = index < acquired.granted;
        const bool limited = !granted && index < acquired.granted + acquired.limited;
        Decided decided{.answer = granted   ? LocalAnswer::kGranted
                                  : limited ? LocalAnswer::kLimited
                                            : LocalAnswer::kBanned,
                        .windows = granted ? item.granted : item.refused,
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
    restore(item);
    drain(item.asking, [](ngx_queue_t* link) {
        QuotaWaiter& waiter = QuotaWaiter::at(link);
        waiter.leave();
        waiter.on_unavailable();
    });
}

void Acquirer::Flight::restore(const Item& item) {
    const auto& request = item.line->request;
    const LockedZone zone(acquirer_.client_.main());
    LoadedStates states(zone, acquirer_.client_, request.id_hash, *request.quotas);
    acquirer_.client_.statistics().leases.lost.add(item.adjusted().first);
    tollgate::restore(states, *request.quotas, item.tidings);
    states.save(steady_time());
    if (may_need_settling(states)) {
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
            refuse(*item, message);
            acquirer_.land(*item->line);
        }
        return true;
    });
}

/// This Redis is a cluster's: it decides one id a call.
void Acquirer::Flight::resubmit() {
    for (auto& item : std::exchange(items_, {})) {
        restore(*item);
        Line& line = *item->line;
        line.in_flight = false;
        drain(item->asking, [&](ngx_queue_t* link) {
            ngx_queue_remove(link);
            ngx_queue_insert_tail(&line.waiting, link);
        });
        acquirer_.schedule(line);
    }
}

void Acquirer::Flight::fail() noexcept {
    guarded(acquirer_.client_.log(), false, [&] {
        for (auto& item : std::exchange(items_, {})) {
            restore(*item);
            drain(item->asking, [](ngx_queue_t* link) {
                QuotaWaiter& waiter = QuotaWaiter::at(link);
                waiter.leave();
                waiter.on_unavailable();
            });
            acquirer_.land(*item->line);
        }
        return true;
    });
}

template <void (Acquirer::*Method)()>
void Acquirer::handle(ngx_event_t* event) noexcept {
    auto* self = static_cast<Acquirer*>(static_cast<ngx_connection_t*>(event->data)->data);
    guarded(self->client_.log(), false, [&] {
        (self->*Method)();
        return true;
    });
}

Acquirer::Acquirer(RedisClient& client) : client_(client) {
    ident_.fd = static_cast<ngx_socket_t>(-1);
    ident_.data = this;
    for (ngx_event_t* event : {&departure_, &settlement_}) {
        event->data = &ident_;
        event->log = client.log();
    }
    departure_.handler = handle<&Acquirer::depart>;
    settlement_.handler = handle<&Acquirer::settle>;
    settlement_.cancelable = 1;
}

Acquirer::~Acquirer() {
    if (settlement_.timer_set) {
        ngx_del_timer(&settlement_);
    }
    if (departure_.posted) {
        ngx_delete_posted_event(&departure_);
    }
    for (auto& [key, line] : lines_) {
        drain(line.waiting, [](ngx_queue_t* link) { QuotaWaiter::at(link).leave(); });
    }
}

Acquirer::Key Acquirer::key_of(const QuotaRequest& request) {
    return {request.id, request.quotas.get(), request.demand.cost, request.demand.refusals_strike};
}

Acquirer::Line& Acquirer::line_of(const QuotaRequest& request) {
    const auto [found, is_new] = lines_.try_emplace(key_of(request));
    Line& line = found->second;
    if (is_new) {
        line.request = request;
        ngx_queue_init(&line.waiting);
    }
    return line;
}

void Acquirer::submit(QuotaWaiter& waiter, const QuotaRequest& request) {
    Line& line = line_of(request);
    ngx_queue_insert_tail(&line.waiting, &waiter.link_);
    waiter.waits_ = true;
    schedule(line);
}

void Acquirer::schedule(Line& line) {
    if (line.scheduled || line.in_flight) {
        return;
    }
    turn_.push_back(&line);
    line.scheduled = true;
    if (!departure_.posted) {
        ngx_post_event(&departure_, &ngx_posted_events);
    }
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
    auto flight = std::make_unique<Flight>(*this);
    {
        const LockedZone zone(client_.main());
        for (Line* line : lines) {
            flight->add(*line, zone);
        }
    }
    auto call = flight->call();
    // Where Redis is out of reach, the flight ends here and tells those who wait.
    client_.statistics().acquires.add();
    client_.connection().run(redis::acquire_script(), std::move(call.keys),
                             std::move(call.arguments), std::move(flight));
}

/// What was asked for the line is answered. Those who came meanwhile try again: a lease may serve
/// them.
void Acquirer::land(Line& line) {
    line.in_flight = false;
    ngx_queue_t waiting;
    move_all(line.waiting, waiting);
    drain(waiting, [](ngx_queue_t* link) {
        QuotaWaiter& waiter = QuotaWaiter::at(link);
        waiter.leave();
        waiter.on_retry();
    });
    if (!line.scheduled && !line.in_flight) {
        lines_.erase(key_of(line.request));
    }
}

void Acquirer::settle_later(const QuotaRequest& request) {
    to_settle_.try_emplace(key_of(request), request);
    settle_in(kSettleEvery);
}

void Acquirer::settle_in(ngx_msec_t delay) {
    if (!settlement_.timer_set) {
        ngx_add_timer(&settlement_, returns_all_ ? kSettleSoon : delay);
    }
}

void Acquirer::settle_all() {
    returns_all_ = true;
    // The worker's exit waits for what is on its way, which is counted from now on.
    settlement_.cancelable = 0;
    settle();
    depart();
}

void Acquirer::settle() {
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
        if (needed && client_.connection().is_reachable()) {
            schedule(line_of(request));
            ++settled;
        }
        place = later ? std::next(place) : to_settle_.erase(place);
    }
    if (returns_all_ && !client_.connection().is_reachable()) {
        to_settle_.clear();
    }
    if (!to_settle_.empty()) {
        settle_in(settled == kSettledAtOnce ? kSettleSoon : kSettleEvery);
    }
}

}  // namespace tollgate::http
