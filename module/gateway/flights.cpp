#include "module/gateway/flights.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "module/gateway/node_heartbeat.hpp"
#include "module/redis/protocol/error_scope.hpp"

namespace tollgate::gateway {

namespace {

using std::chrono::milliseconds;

/// How often a worker looks for places to renew and to return.
constexpr milliseconds kInterval{500};
/// Places are renewed when they are the node's for less than this time.
constexpr milliseconds kRenewedBefore{7000};
/// Redis is not asked again for the renewal of places within this time.
constexpr milliseconds kRenewalPause{1000};
/// Places that were not used for this time are returned.
constexpr milliseconds kUnusedFor{1000};
/// After Redis had no place left, it is not asked again within this time.
constexpr milliseconds kFullFor{50};
/// How long a request that is refused waits for places that are recalled, and how often.
constexpr milliseconds kRecallTakes{10};
constexpr int kMostPauses = 2;

bool are_own(const NodePlaces& node, SteadyTime now) {
    return now < node.until;
}

/// The node's places that a limit allows. If the limit was lowered, nodes have more than that, and
/// each must expect that the others use theirs.
std::int64_t allowed_places(const NodePlaces& node, std::int64_t limit) {
    return std::clamp<std::int64_t>(limit - node.others, 0, node.places);
}

/// Takes places for up to `count` requests of a worker. Returns how many are taken; nothing if the
/// zone has no room.
std::optional<std::int64_t> take(Flight& flight, std::uint32_t process, std::int64_t places,
                                 std::int64_t count) {
    const std::int64_t requests = flight.requests();
    const std::int64_t taken = std::clamp<std::int64_t>(places - requests, 0, count);
    if (taken > 0 && !flight.add(process, static_cast<std::int32_t>(taken))) {
        return std::nullopt;
    }
    NodePlaces& node = *flight.node();
    node.most = std::max(node.most, static_cast<std::int32_t>(requests + taken));
    return taken;
}

/// The record of a key. A new one knows nothing of the calls that were sent before `now`.
Flight find_or_make(const LockedStripe& stripe, const FlightKey& key, SteadyTime now,
                    bool replaces = true) {
    Flight flight = stripe.flights().find_or_make(key, replaces);
    if (NodePlaces* const node = flight.node(); node != nullptr && node->answered == SteadyTime{}) {
        node->answered = now;
    }
    return flight;
}

/// Whether a reply to a call that was sent then tells the present places. Replies of several
/// workers may arrive in another order than Redis gave them, and while a worker waits for its
/// reply, another one may return the places and free the record. A reply with the node's version
/// tells nothing new: the node may be returning some of these places.
bool is_present(const NodePlaces& node, SteadyTime sent, std::int64_t version) {
    if (node.version == 0) {
        return sent >= node.answered;
    }
    return version > node.version || (version < node.version && sent > node.answered);
}

/// Frees the places of workers that have ended.
void drop_gone(Flight& flight, const WorkerProcess& own) {
    flight.drop(
        [&](std::uint32_t process) { return process != own.process() && !own.is_alive(process); });
}

}  // namespace

class Flights::Reply final : public redis::ReplyHandler {
  public:
    Reply(Flights& owner, const FlightKey& key, const Ask& ask, ExactSteadyTime sent)
        : owner_(owner), key_(key), ask_(ask), sent_(sent) {}

    void on_values(redis::ReplyValues values) noexcept override {
        const auto given = redis::read_places(values);
        if (!given ||
            !attempt(owner_.context_.log(), [&] { owner_.on_places(key_, ask_, sent_, *given); })) {
            on_failure();
        }
    }
    void on_error(std::string_view message) noexcept override {
        if (redis::is_lasting(message)) {
            owner_.context_.log_refusal(
                LogLevel::kError, "requests in flight are limited by each node alone: ", message);
        }
        on_failure();
    }
    void on_failure() noexcept override { owner_.on_failure(key_, ask_); }

  private:
    Flights& owner_;
    FlightKey key_;
    Ask ask_;
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
    if (!std::exchange(is_waiting_, true)) {
        timer_->start(kInterval);
    }
    return entry;
}

FlightAnswer Flights::enter(std::string_view id, const FlightKey& key, const TableQuota& quota,
                            FlightWaiter& waiter) {
    Entry& entry = entry_of(id, key, quota);
    {
        const LockedStripe stripe(context_.zone(), key.id);
        const SteadyTime now = context_.steady_time();
        Flight flight = find_or_make(stripe, key, now);
        if (flight.node() == nullptr) {
            return FlightAnswer::kNoRoom;
        }
        const NodePlaces& node = *flight.node();
        const bool is_full = now < node.full_until;
        if (are_own(node, now) && entry.waiting.empty()) {
            if (is_full) {
                drop_gone(flight, context_.worker());
            }
            const auto taken =
                take(flight, context_.worker().process(), allowed_places(node, entry.limit), 1);
            if (!taken || *taken == 1) {
                return taken ? FlightAnswer::kEntered : FlightAnswer::kNoRoom;
            }
        }
        if (is_full) {
            return FlightAnswer::kFull;
        }
    }
    if (!context_.transport().is_reachable(context_.slot_of(id))) {
        return FlightAnswer::kUnavailable;
    }
    entry.waiting.push(waiter);
    if (!entry.is_calling && !entry.is_pausing) {
        call_for_waiters(key, entry);
    }
    return FlightAnswer::kAsk;
}

FlightAnswer Flights::enter_alone(std::string_view id, const FlightKey& key,
                                  const TableQuota& quota, bool without_limit) {
    const Entry& entry = entry_of(id, key, quota);
    const LockedStripe stripe(context_.zone(), key.id);
    const SteadyTime now = context_.steady_time();
    Flight flight = find_or_make(stripe, key, now);
    if (flight.node() == nullptr) {
        return FlightAnswer::kNoRoom;
    }
    drop_gone(flight, context_.worker());
    const NodePlaces& node = *flight.node();
    const std::int64_t share =
        std::max<std::int64_t>(entry.limit / NodeHeartbeat::nodes(context_), 1);
    const std::int64_t places =
        without_limit
            ? std::numeric_limits<std::int32_t>::max()
            : std::min(std::max<std::int64_t>(
                           share, are_own(node, now) ? allowed_places(node, entry.limit) : 0),
                       entry.limit);
    const auto taken = take(flight, context_.worker().process(), places, 1);
    if (!taken) {
        return FlightAnswer::kNoRoom;
    }
    return *taken == 1 ? FlightAnswer::kEntered : FlightAnswer::kFull;
}

void Flights::leave(const FlightKey& key) noexcept {
    {
        const LockedStripe stripe(context_.zone(), key.id);
        stripe.flights().find(key).add(context_.worker().process(), -1);
    }
    return_if_exiting(key);
}

/// A worker that exits keeps no places that are not used.
void Flights::return_if_exiting(const FlightKey& key) noexcept {
    const auto entry = entries_.find(key);
    if (context_.worker().is_exiting() && entry != entries_.end()) {
        attempt(context_.log(),
                [&] { return_unused(key, entry->second.id, entry->second.table, true); });
    }
}

std::int64_t Flights::in_flight(const FlightKey& key) const {
    const LockedStripe stripe(context_.zone(), key.id);
    const Flight flight = stripe.flights().find(key);
    return flight.node() == nullptr ? 0 : flight.requests() + flight.node()->others;
}

/// Asks for places for all waiters.
void Flights::call_for_waiters(const FlightKey& key, Entry& entry) {
    entry.asked.append(entry.waiting);
    Ask ask{.limit = entry.limit};
    {
        const LockedStripe stripe(context_.zone(), key.id);
        const SteadyTime now = context_.steady_time();
        Flight flight = find_or_make(stripe, key, now);
        drop_gone(flight, context_.worker());
        ask.places = std::min<std::int64_t>(
            flight.requests() + static_cast<std::int64_t>(entry.asked.size()), entry.limit);
        if (flight.node() != nullptr) {
            flight.node()->asked = now;
        }
    }
    call(key, entry, ask);
}

/// Calls for places. If that is not possible, the waiters get their answer.
void Flights::call(const FlightKey& key, Entry& entry, const Ask& ask) {
    entry.is_calling = true;
    if (!attempt(context_.log(), [&] { send(key, entry.id, entry.table, ask); })) {
        on_failure(key, ask);
    }
}

void Flights::send(const FlightKey& key, std::string_view id, std::string_view table,
                   const Ask& ask) {
    const ExactSteadyTime now = context_.clock().steady();
    // The Redis may have other names in the configurations of old workers. The zone has a record
    // for each name, and does not know that their places are in the same Redis.
    const std::string node =
        context_.zone().node_name() + "-" + std::to_string(context_.settings().name_hash);
    auto reply = std::make_unique<Reply>(*this, key, ask, now);
    auto call = redis::flight_call(context_.settings().keys, {.id = id,
                                                              .table = table,
                                                              .node = node,
                                                              .limit = ask.limit,
                                                              .places = ask.places,
                                                              .lifetime = kPlacesLast,
                                                              .version = ask.version});
    context_.statistics()["commands.flight"].add();
    context_.transport().run(context_.slot_of(id), std::move(call), std::move(reply));
}

void Flights::on_places(const FlightKey& key, const Ask& ask, ExactSteadyTime sent,
                        const redis::PlacesGiven& given) {
    bool is_full = given.places + given.others >= ask.limit;
    const auto found = entries_.find(key);
    const auto asked = found == entries_.end() || ask.is_return()
                           ? std::int64_t{0}
                           : static_cast<std::int64_t>(found->second.asked.size());
    std::optional<std::int64_t> taken = 0;
    {
        const LockedStripe stripe(context_.zone(), key.id);
        const SteadyTime now = context_.steady_time();
        // Another worker may have freed the record meanwhile, or needed it for another key. Keys
        // that replaced each other would ask for ever.
        Flight flight =
            ask.is_return() ? stripe.flights().find(key) : find_or_make(stripe, key, now, false);
        NodePlaces* const node = flight.node();
        if (node == nullptr) {
            taken = std::nullopt;
        } else {
            const auto sent_at = std::chrono::floor<SteadyTime>(sent);
            if (is_present(*node, sent_at, given.version)) {
                constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
                node->version = given.version;
                node->places = static_cast<std::int32_t>(std::min(given.places, kMost));
                node->others = static_cast<std::int32_t>(std::min(given.others, kMost));
                node->answered = now;
            } else if (node->version == 0) {
                is_full = false;  // The waiters ask again.
            }
            if (!ask.is_return()) {
                node->until = std::max(node->until, sent_at + kPlacesLast);
            }
            if (are_own(*node, now)) {
                taken = take(flight, context_.worker().process(), allowed_places(*node, ask.limit),
                             asked);
            }
        }
    }
    if (found != entries_.end() && !ask.is_return()) {
        answer(key, found->second, is_full, given.others > 0, taken);
    }
    // During the call, no places could be returned, or Redis has refused them: another call had
    // changed them.
    return_if_exiting(key);
}

/// Answers the waiters of a call that has `taken` places for them; nothing: the zone has no room.
void Flights::answer(const FlightKey& key, Entry& entry, bool is_full, bool may_recall,
                     std::optional<std::int64_t> taken) {
    entry.is_calling = false;
    WaitList<FlightWaiter> entered;
    for (std::int64_t i = 0; i < taken.value_or(0); ++i) {
        entered.push(entry.asked.front());
    }
    WaitList<FlightWaiter> refused;
    const bool is_refused = is_full && !entry.asked.empty();
    if (!taken) {
        refused.append(entry.asked);
    } else if (is_refused && may_recall && entry.refusals < kMostPauses) {
        ++entry.refusals;
        entry.is_pausing = true;
        pause_->start(kRecallTakes);
    } else if (is_refused) {
        refused.append(entry.asked);
        note_full(key);
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
    } else if (!entry.is_calling && !entry.is_pausing) {
        call_for_waiters(key, entry);
    }
}

/// Redis has no place left.
void Flights::note_full(const FlightKey& key) {
    const LockedStripe stripe(context_.zone(), key.id);
    const Flight flight = stripe.flights().find(key);
    if (NodePlaces* const node = flight.node()) {
        node->full_until = context_.steady_time() + kFullFor;
    }
}

/// Nodes have returned the recalled places.
void Flights::on_pause_end() noexcept {
    attempt(context_.log(), [&] {
        for (const FlightKey& key : keys()) {
            Entry& entry = entries_.at(key);
            if (std::exchange(entry.is_pausing, false) && !entry.is_calling &&
                !entry.waiting.empty()) {
                call_for_waiters(key, entry);
            }
        }
    });
}

void Flights::on_failure(const FlightKey& key, const Ask& ask) noexcept {
    const auto found = entries_.find(key);
    if (found == entries_.end() || ask.is_return()) {
        return;
    }
    Entry& entry = found->second;
    entry.is_calling = false;
    entry.is_pausing = false;
    entry.refusals = 0;
    WaitList<FlightWaiter> failed;
    failed.append(entry.asked);
    failed.append(entry.waiting);
    failed.drain([](FlightWaiter& waiter) { waiter.on_place(FlightAnswer::kUnavailable); });
}

/// Returns the places that no request has used for a while; `at_once`: those that none uses now.
void Flights::return_unused(const FlightKey& key, std::string_view id, std::string_view table,
                            bool at_once) {
    const auto entry = entries_.find(key);
    const bool is_calling = entry != entries_.end() && entry->second.is_calling;
    if (is_calling || !context_.transport().is_reachable(context_.slot_of(id))) {
        return;
    }
    Ask ask;
    {
        const LockedStripe stripe(context_.zone(), key.id);
        Flight flight = stripe.flights().find(key);
        NodePlaces* const node = flight.node();
        const SteadyTime now = context_.steady_time();
        if (node == nullptr || !are_own(*node, now) ||
            (!at_once && now - node->most_since < kUnusedFor)) {
            return;
        }
        drop_gone(flight, context_.worker());
        const auto requests = static_cast<std::int32_t>(flight.requests());
        const std::int32_t needed = at_once ? requests : std::max(node->most, requests);
        node->most = requests;
        node->most_since = now;
        if (needed >= node->places) {
            return;
        }
        node->places = needed;
        ask.places = needed;
        ask.version = node->version;
    }
    send(key, id, table, ask);
}

void Flights::recall(std::string_view id) noexcept {
    const std::uint32_t redis = context_.settings().name_hash;
    attempt(context_.log(), [&] {
        const IdHash hash = id_hash(id);
        for (const ServedTable& served : context_.tables()) {
            if (served.redis == redis) {
                return_unused({hash, redis, served.id}, id, served.table->name, true);
            }
        }
    });
}

void Flights::shut_down() noexcept {
    attempt(context_.log(), [&] {
        for (const FlightKey& key : keys()) {
            return_if_exiting(key);
        }
    });
}

/// Of all entries. A call that fails at once may lead to further entries.
std::vector<FlightKey> Flights::keys() const {
    std::vector<FlightKey> keys;
    keys.reserve(entries_.size());
    std::ranges::transform(entries_, std::back_inserter(keys), &Entries::value_type::first);
    return keys;
}

void Flights::on_timer() noexcept {
    attempt(context_.log(), [&] {
        for (const FlightKey& key : keys()) {
            if (!visit(key, entries_.at(key))) {
                entries_.erase(key);
            }
        }
    });
    is_waiting_ = !entries_.empty();
    if (is_waiting_) {
        timer_->start(kInterval);
    }
}

/// Renews the places of an entry that has requests, and returns unused ones. False if the worker
/// needs the entry no more.
bool Flights::visit(const FlightKey& key, Entry& entry) {
    return_unused(key, entry.id, entry.table, false);
    Ask ask{.limit = entry.limit};
    {
        const LockedStripe stripe(context_.zone(), key.id);
        Flight flight = stripe.flights().find(key);
        NodePlaces* const node = flight.node();
        const bool is_idle = !entry.is_calling && entry.waiting.empty();
        if (node == nullptr) {
            return !is_idle;
        }
        drop_gone(flight, context_.worker());
        const SteadyTime now = context_.steady_time();
        ask.places = flight.requests();
        if (ask.places == 0) {
            if (is_idle && (node->places == 0 || !are_own(*node, now))) {
                flight.free();
                return false;
            }
            return true;
        }
        const bool is_due =
            node->until - now < kRenewedBefore && now - node->asked >= kRenewalPause;
        if (entry.is_calling || !is_due) {
            return true;
        }
        node->asked = now;
    }
    if (context_.transport().is_reachable(context_.slot_of(entry.id))) {
        call(key, entry, ask);
    }
    return true;
}

void sweep_flights(Zone& zone, const WorkerProcess& worker, SteadyTime now) {
    for (std::size_t i = 0; i < zone.stripes(); ++i) {
        const LockedStripe stripe(zone, StripeNumber{i});
        stripe.flights().for_each([&](const FlightKey& /*key*/, Flight flight) {
            drop_gone(flight, worker);
            if (flight.requests() == 0 && !are_own(*flight.node(), now)) {
                flight.free();
            }
        });
    }
}

}  // namespace tollgate::gateway
