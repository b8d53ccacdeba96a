#include "module/engine/in_flight/flights.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "module/redis/protocol/error_scope.hpp"

namespace tollgate::engine {

namespace {

using std::chrono::milliseconds;

/// How often a worker looks for places to renew and to return.
constexpr milliseconds kInterval{500};
/// How long a request that is refused waits for places that are recalled, and how often.
constexpr milliseconds kRecallTakes{10};
constexpr int kMostPauses = 2;
/// After Redis has refused a call, it is asked again after this time.
constexpr milliseconds kAfterRefusal{1000};

}  // namespace

class Flights::Reply final : public NodeCall::Reply {
  public:
    Reply(Flights& owner, const FlightName& name, const FlightAsk& ask, ExactSteadyTime sent)
        : owner_(owner), name_(name), ask_(ask), sent_(sent) {}

    void on_result(redis::ReplyValues values) noexcept override {
        const auto given = redis::read_places(values);
        if (!given || !attempt(owner_.context_.log(),
                               [&] { owner_.on_places(name_, ask_, sent_, *given); })) {
            on_failure();
        }
    }
    void on_refusal(std::string_view error) noexcept override {
        if (redis::is_lasting(error)) {
            owner_.refused_until_ = owner_.context_.steady_time() + kAfterRefusal;
            owner_.on_failure(name_.key, ask_, FlightAnswer::kRefused);
        } else {
            on_failure();
        }
    }
    void on_failure() noexcept override {
        owner_.on_failure(name_.key, ask_, FlightAnswer::kUnavailable);
    }

  private:
    Flights& owner_;
    FlightName name_;
    FlightAsk ask_;
    ExactSteadyTime sent_;
};

Flights::Flights(EngineContext& context)
    : context_(context),
      timer_(context.make_timer([this] { on_timer(); })),
      pause_(context.make_timer([this] { on_pause_end(); })) {}

Flights::Entry& Flights::entry_of(std::string_view id, const FlightKey& key,
                                  const TableQuota& quota) {
    Entry& entry = entries_[key];
    if (entry.id.empty()) {
        entry.id = id;
        entry.table = quota.table;
    }
    entry.limit = quota.in_flight;
    start_timer();
    return entry;
}

void Flights::start_timer() {
    if (!std::exchange(is_waiting_, true)) {
        timer_->start(kInterval);
    }
}

FlightAnswer Flights::enter(std::string_view id, const FlightKey& key, const TableQuota& quota,
                            FlightWaiter& waiter) {
    Entry& entry = entry_of(id, key, quota);
    const FlightAnswer answer = node_.enter({key, IdText(id)}, entry.limit, !entry.waiting.empty());
    if (answer != FlightAnswer::kAsk) {
        return answer;
    }
    if (context_.steady_time() < refused_until_) {
        return FlightAnswer::kRefused;
    }
    if (!may_call(id)) {
        return FlightAnswer::kUnavailable;
    }
    entry.waiting.push(waiter);
    if (!entry.is_calling && entry.pause_ends == SteadyTime{}) {
        call_for_waiters(key, entry);
    }
    return FlightAnswer::kAsk;
}

FlightAnswer Flights::enter_alone(std::string_view id, const FlightKey& key,
                                  const TableQuota& quota, bool without_limit) {
    return node_.enter_alone({key, IdText(id)}, entry_of(id, key, quota).limit, without_limit);
}

void Flights::leave(const FlightKey& key) noexcept {
    if (node_.leave(key) || context_.worker().is_exiting()) {
        return_free(key);
    }
}

/// Returns the places that no request uses, unless one of this worker waits.
void Flights::return_free(const FlightKey& key) noexcept {
    const auto entry = entries_.find(key);
    if (entry != entries_.end() &&
        (entry->second.waiting.empty() || context_.worker().is_exiting())) {
        attempt(context_.log(),
                [&] { return_unused(key, entry->second.id, entry->second.table, true); });
    }
}

/// Whether a call may succeed.
bool Flights::may_call(std::string_view id) const {
    return context_.steady_time() >= refused_until_ &&
           context_.transport().is_reachable(context_.slot_of(id));
}

/// See EngineContext::table_of.
const PlanTable* Flights::table_of(const FlightKey& key) const {
    return context_.table_of(key.redis, key.table);
}

/// If Redis cannot be asked, it has no places for others either, and forgets these soon. The places
/// may be those of another worker: the record says whether one of its requests waits.
bool Flights::can_return(const FlightKey& key) const noexcept {
    const auto entry = entries_.find(key);
    return entry == entries_.end() ? table_of(key) != nullptr
                                   : !entry->second.is_calling && entry->second.waiting.empty();
}

void Flights::return_displaced(const HeldPlaces& places) noexcept {
    attempt(context_.log(), [&] {
        const std::string_view id = places.name.id.view();
        const PlanTable* const table = table_of(places.name.key);
        if (table != nullptr && may_call(id)) {
            send(places.name.key, id, table->name, {.version = places.version});
        }
    });
}

/// Asks for places for all waiters.
void Flights::call_for_waiters(const FlightKey& key, Entry& entry) {
    entry.asked.append(entry.waiting);
    call(key, entry,
         node_.ask_for({key, IdText(entry.id)}, entry.limit,
                       static_cast<std::int64_t>(entry.asked.size())));
}

/// Calls for places. If that is not possible, the waiters get their answer.
void Flights::call(const FlightKey& key, Entry& entry, const FlightAsk& ask) {
    entry.is_calling = true;
    if (!attempt(context_.log(), [&] { send(key, entry.id, entry.table, ask); })) {
        on_failure(key, ask, FlightAnswer::kUnavailable);
    }
}

void Flights::send(const FlightKey& key, std::string_view id, std::string_view table,
                   const FlightAsk& ask) {
    const ExactSteadyTime now = context_.clock().steady();
    // The Redis may have other names in the configurations of old workers. The zone has a record
    // for each name, and does not know that their places are in the same Redis.
    const std::string node =
        context_.zone().node_name() + "-" + std::to_string(context_.settings().name_hash);
    const redis::Slot slot = context_.slot_of(id);
    auto reply = std::make_unique<Reply>(*this, FlightName{key, IdText(id)}, ask, now);
    auto call = redis::flight_call(context_.settings().keys, {.id = id,
                                                              .table = table,
                                                              .node = node,
                                                              .limit = ask.limit,
                                                              .places = ask.places,
                                                              .lifetime = NodeFlights::kPlacesLast,
                                                              .version = ask.version,
                                                              .running = ask.running,
                                                              .deadline = calls_.deadline(slot)});
    context_.statistics()["commands.flight"].add();
    calls_.run(slot, std::move(call), std::move(reply));
}

void Flights::on_places(const FlightName& name, const FlightAsk& ask, ExactSteadyTime sent,
                        const redis::PlacesGiven& given) {
    const FlightKey& key = name.key;
    const auto found = entries_.find(key);
    const bool is_answer = found != entries_.end() && !ask.is_return();
    const auto waiters = is_answer ? static_cast<std::int64_t>(found->second.asked.size()) : 0;
    const auto change = node_.apply(name, ask, sent, given, waiters);
    if (is_answer) {
        answer(key, found->second, change, given.others > 0);
    }
    // During the call, no places could be returned, or Redis has not taken them: another call had
    // changed them.
    if (context_.worker().is_exiting() || node_.is_recalled(key)) {
        return_free(key);
    }
}

/// Answers the waiters of a call.
void Flights::answer(const FlightKey& key, Entry& entry, const NodeFlights::Change& change,
                     bool may_recall) {
    const auto& taken = change.taken;
    entry.is_calling = false;
    WaitList<FlightWaiter> entered;
    for (std::int64_t i = 0; i < taken.value_or(0); ++i) {
        entered.push(entry.asked.front());
    }
    WaitList<FlightWaiter> refused;
    const bool is_refused = change.is_full && !entry.asked.empty();
    if (!taken) {
        refused.append(entry.asked);
    } else if (is_refused && may_recall && entry.refusals < kMostPauses && pause(key, entry)) {
        ++entry.refusals;
    } else if (is_refused) {
        refused.append(entry.asked);
        node_.note_full(key);
    } else {
        entry.refusals = 0;
    }
    // Another worker may have taken the places.
    entry.asked.append(entry.waiting);
    entry.waiting.append(entry.asked);
    const auto answer = taken ? FlightAnswer::kFull : FlightAnswer::kNoRoom;
    entered.drain([](FlightWaiter& waiter) { waiter.on_place(FlightAnswer::kEntered); });
    refused.drain([answer](FlightWaiter& waiter) { waiter.on_place(answer); });
    if (entry.waiting.empty()) {
        entry.refusals = 0;
    } else if (!entry.is_calling && entry.pause_ends == SteadyTime{}) {
        call_for_waiters(key, entry);
    }
}

/// The entry's waiters wait for recalled places. False if memory is short.
bool Flights::pause(const FlightKey& key, Entry& entry) noexcept {
    const SteadyTime end = context_.steady_time() + kRecallTakes;
    if (!attempt(context_.log(), [&] { pausing_.emplace_back(end, key); })) {
        return false;
    }
    entry.pause_ends = end;
    if (pausing_.size() == 1) {
        pause_->start(kRecallTakes);
    }
    return true;
}

/// Nodes have returned the places that were recalled first.
void Flights::on_pause_end() noexcept {
    const SteadyTime now = context_.steady_time();
    while (!pausing_.empty() && pausing_.front().first <= now) {
        const SteadyTime end = pausing_.front().first;
        const FlightKey key = pausing_.front().second;
        pausing_.pop_front();
        const auto found = entries_.find(key);
        if (found == entries_.end() || found->second.pause_ends != end) {
            continue;  // A call has failed meanwhile.
        }
        Entry& entry = found->second;
        entry.pause_ends = {};
        if (!entry.is_calling && !entry.waiting.empty()) {
            attempt(context_.log(), [&] { call_for_waiters(key, entry); });
        }
    }
    if (!pausing_.empty()) {
        pause_->start(pausing_.front().first - now);
    }
}

void Flights::on_failure(const FlightKey& key, const FlightAsk& ask, FlightAnswer answer) noexcept {
    const auto found = entries_.find(key);
    if (found == entries_.end() || ask.is_return()) {
        return;
    }
    Entry& entry = found->second;
    entry.is_calling = false;
    entry.pause_ends = {};
    entry.refusals = 0;
    WaitList<FlightWaiter> failed;
    failed.append(entry.asked);
    failed.append(entry.waiting);
    failed.drain([answer](FlightWaiter& waiter) { waiter.on_place(answer); });
}

/// Returns the places that no request has used for a while; `at_once`: those that none uses now.
void Flights::return_unused(const FlightKey& key, std::string_view id, std::string_view table,
                            bool at_once) {
    const auto entry = entries_.find(key);
    const bool is_calling = entry != entries_.end() && entry->second.is_calling;
    if (is_calling || !may_call(id)) {
        return;
    }
    if (const auto ask = node_.return_unused(key, at_once)) {
        send(key, id, table, *ask);
    }
}

void Flights::recall(std::string_view id) noexcept {
    const std::uint32_t redis = context_.settings().name_hash;
    attempt(context_.log(), [&] {
        const IdHash hash = id_hash(id);
        for (const ServedTable& served : context_.tables()) {
            if (served.redis == redis) {
                const FlightKey key{hash, redis, served.id};
                node_.note_recall(key);
                return_unused(key, id, served.table->name, true);
            }
        }
    });
}

void Flights::return_idle() noexcept {
    attempt(context_.log(), [&] {
        idle_ = node_.idle();
        idle_until_ = context_.steady_time() + NodeFlights::kPlacesLast;
        if (!idle_.empty()) {
            start_timer();
        }
    });
}

void Flights::visit_idle() {
    if (context_.steady_time() >= idle_until_) {
        idle_.clear();
    }
    std::vector<FlightName> left;
    for (const FlightName& name : std::exchange(idle_, {})) {
        const PlanTable* const table = table_of(name.key);
        if (table != nullptr && may_call(name.id.view())) {
            return_unused(name.key, name.id.view(), table->name, true);
        } else if (table != nullptr) {
            left.push_back(name);
        }
    }
    idle_ = std::move(left);
}

void Flights::shut_down() noexcept {
    attempt(context_.log(), [&] {
        for (const FlightKey& key : keys()) {
            return_free(key);
        }
    });
}

/// The keys of all entries. A call that fails at once may lead to further entries.
std::vector<FlightKey> Flights::keys() const {
    std::vector<FlightKey> keys;
    keys.reserve(entries_.size());
    std::ranges::transform(entries_, std::back_inserter(keys), &Entries::value_type::first);
    return keys;
}

void Flights::on_timer() noexcept {
    attempt(context_.log(), [&] {
        visit_idle();
        for (const FlightKey& key : keys()) {
            if (!visit(key, entries_.at(key))) {
                entries_.erase(key);
            }
        }
    });
    is_waiting_ = false;
    if (!entries_.empty() || !idle_.empty()) {
        start_timer();
    }
}

/// Renews the places of an entry that has requests, and returns unused ones. False if the worker
/// needs the entry no more.
bool Flights::visit(const FlightKey& key, Entry& entry) {
    return_unused(key, entry.id, entry.table, false);
    const bool is_idle = !entry.is_calling && entry.waiting.empty();
    const auto upkeep = node_.keep_up(key, entry.limit, entry.is_calling, is_idle);
    if (upkeep.renewal && may_call(entry.id)) {
        call(key, entry, *upkeep.renewal);
    }
    return !upkeep.is_over;
}

}  // namespace tollgate::engine
