#include "module/engine/in_flight/node_flights.hpp"

#include <algorithm>
#include <limits>

namespace tollgate::engine {

namespace {

using std::chrono::milliseconds;

/// Places are renewed when they are the node's for less than this time.
constexpr milliseconds kRenewedBefore{7000};
/// Redis is not asked again for the renewal of places within this time.
constexpr milliseconds kRenewalPause{1000};
/// Places that were not used for this time are returned.
constexpr milliseconds kUnusedFor{1000};
/// After Redis had no place left, it is not asked again within this time.
constexpr milliseconds kFullFor{50};

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

/// A new record knows nothing of the calls that were sent before `now`.
Flight begun(Flight flight, SteadyTime now) {
    if (NodePlaces* const node = flight.node(); node != nullptr && node->answered == SteadyTime{}) {
        node->answered = now;
    }
    return flight;
}

/// Makes records, and returns held places of those that it displaces, once no lock is held: it is
/// made before the lock is taken.
class Room {
  public:
    Room(NodeFlights::Returns& returns, const EngineContext& context, SteadyTime now)
        : returns_(returns),
          displacement_{.now = now, .process = context.worker().process(), .returns = returns} {}
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;
    ~Room() {
        if (displacement_.held) {
            returns_.return_displaced(*displacement_.held);
        }
    }
    /// The record of a key.
    Flight find_or_make(const LockedStripe& stripe, const FlightName& name) {
        return begun(stripe.flights().find_or_make(name, displacement_), displacement_.now);
    }

  private:
    NodeFlights::Returns& returns_;
    Displacement displacement_;
};

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

FlightAnswer NodeFlights::enter(const FlightName& name, std::int64_t limit, bool others_wait) {
    const SteadyTime now = context_.steady_time();
    Room room(returns_, context_, now);
    const LockedStripe stripe(context_.zone(), name.key.id);
    Flight flight = room.find_or_make(stripe, name);
    if (flight.node() == nullptr) {
        return FlightAnswer::kNoRoom;
    }
    const NodePlaces& node = *flight.node();
    const bool is_full = now < node.full_until;
    if (are_own(node, now) && !others_wait) {
        if (is_full) {
            drop_gone(flight, context_.worker());
        }
        const auto taken =
            take(flight, context_.worker().process(), allowed_places(node, limit), 1);
        if (!taken || *taken == 1) {
            return taken ? FlightAnswer::kEntered : FlightAnswer::kNoRoom;
        }
    }
    return is_full ? FlightAnswer::kFull : FlightAnswer::kAsk;
}

FlightAnswer NodeFlights::enter_alone(const FlightName& name, std::int64_t limit,
                                      bool without_limit) {
    const SteadyTime now = context_.steady_time();
    Room room(returns_, context_, now);
    const LockedStripe stripe(context_.zone(), name.key.id);
    Flight flight = room.find_or_make(stripe, name);
    if (flight.node() == nullptr) {
        return FlightAnswer::kNoRoom;
    }
    drop_gone(flight, context_.worker());
    const NodePlaces& node = *flight.node();
    const std::int64_t share = std::max<std::int64_t>(limit / context_.nodes(), 1);
    const std::int64_t places =
        without_limit ? std::numeric_limits<std::int32_t>::max()
                      : std::min(std::max<std::int64_t>(
                                     share, are_own(node, now) ? allowed_places(node, limit) : 0),
                                 limit);
    const auto taken = take(flight, context_.worker().process(), places, 1);
    if (!taken) {
        return FlightAnswer::kNoRoom;
    }
    return *taken == 1 ? FlightAnswer::kEntered : FlightAnswer::kFull;
}

bool NodeFlights::leave(const FlightKey& key) noexcept {
    const LockedStripe stripe(context_.zone(), key.id);
    Flight flight = stripe.flights().find(key);
    flight.add(context_.worker().process(), -1);
    return flight.node() != nullptr && flight.node()->is_recalled != 0;
}

std::int64_t NodeFlights::in_flight(const FlightKey& key) const {
    const LockedStripe stripe(context_.zone(), key.id);
    const Flight flight = stripe.flights().find(key);
    return flight.node() == nullptr ? 0 : flight.requests() + flight.node()->others;
}

FlightAsk NodeFlights::ask_for(const FlightName& name, std::int64_t limit, std::int64_t waiters) {
    const SteadyTime now = context_.steady_time();
    Room room(returns_, context_, now);
    const LockedStripe stripe(context_.zone(), name.key.id);
    Flight flight = room.find_or_make(stripe, name);
    drop_gone(flight, context_.worker());
    if (flight.node() != nullptr) {
        flight.node()->asked = now;
    }
    const std::int64_t running = flight.requests();
    return {.limit = limit, .places = std::min(running + waiters, limit), .running = running};
}

NodeFlights::Change NodeFlights::apply(const FlightName& name, const FlightAsk& ask,
                                       ExactSteadyTime sent, const redis::PlacesGiven& given,
                                       std::int64_t waiters) {
    Change change{.taken = 0, .is_full = given.places + given.others >= ask.limit};
    const LockedStripe stripe(context_.zone(), name.key.id);
    const SteadyTime now = context_.steady_time();
    // Another worker may have freed the record meanwhile, or needed it for another key. Keys that
    // replaced each other would ask for ever.
    Flight flight = ask.is_return() ? stripe.flights().find(name.key)
                                    : begun(stripe.flights().find_or_make(name), now);
    NodePlaces* const node = flight.node();
    if (node == nullptr) {
        change.taken = std::nullopt;
        return change;
    }
    const auto sent_at = std::chrono::floor<SteadyTime>(sent);
    if (is_present(*node, sent_at, given.version)) {
        constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
        if (given.is_recalled) {
            node->is_recalled = 1;
        } else if (!ask.is_return() && given.places > node->places) {
            node->is_recalled = 0;
        }
        node->version = given.version;
        node->places = static_cast<std::int32_t>(std::min(given.places, kMost));
        node->others = static_cast<std::int32_t>(std::min(given.others, kMost));
        node->answered = now;
    } else if (node->version == 0) {
        change.is_full = false;  // The waiters ask again.
    }
    if (!ask.is_return()) {
        node->until = std::max(node->until, sent_at + kPlacesLast);
    }
    if (are_own(*node, now)) {
        change.taken =
            take(flight, context_.worker().process(), allowed_places(*node, ask.limit), waiters);
    }
    if (!ask.is_return() && change.taken == waiters) {
        node->asked = {};  // Those that got no place may still wait.
    }
    return change;
}

void NodeFlights::note_full(const FlightKey& key) {
    const LockedStripe stripe(context_.zone(), key.id);
    const Flight flight = stripe.flights().find(key);
    if (NodePlaces* const node = flight.node()) {
        node->full_until = context_.steady_time() + kFullFor;
        node->asked = {};
    }
}

void NodeFlights::note_recall(const FlightKey& key) {
    const LockedStripe stripe(context_.zone(), key.id);
    if (NodePlaces* const node = stripe.flights().find(key).node()) {
        node->is_recalled = 1;
    }
}

bool NodeFlights::is_recalled(const FlightKey& key) const {
    const LockedStripe stripe(context_.zone(), key.id);
    const NodePlaces* const node = stripe.flights().find(key).node();
    return node != nullptr && node->is_recalled != 0;
}

std::optional<FlightAsk> NodeFlights::return_unused(const FlightKey& key, bool at_once) {
    const LockedStripe stripe(context_.zone(), key.id);
    Flight flight = stripe.flights().find(key);
    NodePlaces* const node = flight.node();
    const SteadyTime now = context_.steady_time();
    if (node == nullptr || !are_own(*node, now)) {
        return std::nullopt;
    }
    const bool is_due = at_once || node->is_recalled != 0;
    if (!is_due && now - node->most_since < kUnusedFor) {
        return std::nullopt;
    }
    drop_gone(flight, context_.worker());
    const auto requests = static_cast<std::int32_t>(flight.requests());
    const std::int32_t needed = is_due ? requests : std::max(node->most, requests);
    node->most = requests;
    node->most_since = now;
    if (needed >= node->places) {
        return std::nullopt;
    }
    node->places = needed;
    return FlightAsk{.places = needed, .version = node->version};
}

std::vector<FlightName> NodeFlights::idle() const {
    std::vector<FlightName> found;
    const SteadyTime now = context_.steady_time();
    for (std::size_t i = 0; i < context_.zone().stripes(); ++i) {
        const LockedStripe stripe(context_.zone(), StripeNumber{i});
        stripe.flights().for_each([&](const Flight& flight) {
            if (flight.requests() == 0 && flight.node()->are_held(now)) {
                found.push_back(flight.name());
            }
        });
    }
    return found;
}

NodeFlights::Upkeep NodeFlights::keep_up(const FlightKey& key, std::int64_t limit, bool is_calling,
                                         bool is_idle) {
    const LockedStripe stripe(context_.zone(), key.id);
    Flight flight = stripe.flights().find(key);
    NodePlaces* const node = flight.node();
    if (node == nullptr) {
        return {.is_over = is_idle};
    }
    drop_gone(flight, context_.worker());
    const SteadyTime now = context_.steady_time();
    const std::int64_t requests = flight.requests();
    if (requests == 0) {
        const bool is_over = is_idle && (node->places == 0 || !are_own(*node, now));
        if (is_over) {
            flight.free();
        }
        return {.is_over = is_over};
    }
    const bool is_due = node->until - now < kRenewedBefore && now - node->asked >= kRenewalPause;
    if (is_calling || !is_due) {
        return {};
    }
    node->asked = now;
    return {.renewal = FlightAsk{.limit = limit, .places = requests, .running = requests}};
}

void drop_flights(Zone& zone, std::span<const std::uint32_t> processes) {
    for (std::size_t i = 0; i < zone.stripes(); ++i) {
        const LockedStripe stripe(zone, StripeNumber{i});
        stripe.flights().for_each([&](Flight flight) {
            flight.drop([&](std::uint32_t process) {
                return std::ranges::find(processes, process) != processes.end();
            });
        });
    }
}

}  // namespace tollgate::engine
