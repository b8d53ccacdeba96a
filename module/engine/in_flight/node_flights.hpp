#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "module/engine/engine_context.hpp"
#include "module/redis/protocol/flight_call.hpp"
#include "module/zone/flight_records.hpp"

namespace tollgate::engine {

/// What a request that needs a place gets.
enum class FlightAnswer : std::uint8_t {
    kAsk,          ///< no answer yet: Redis has to be asked
    kEntered,      ///< a place; Flights::leave gives it back
    kFull,         ///< none: the limit is reached
    kUnavailable,  ///< none: Redis is unreachable
    kRefused,      ///< none: Redis refuses a command that shares places among the nodes
    kNoRoom,       ///< none: the zone has no room to count the request
};

/// How the node asks Redis for places.
struct FlightAsk {
    std::int64_t limit = 0;
    std::int64_t places = 0;
    std::int64_t version = 0;  ///< see redis::PlacesWanted
    std::int64_t running = 0;  ///< see redis::PlacesWanted
    bool is_return() const { return version != 0; }
};

/// The places of this node and its requests in flight, which all workers count in the zone: which
/// requests they serve, and which of them the node renews or returns.
class NodeFlights {
  public:
    /// Sends returns of places for a worker.
    class Returns : public PlaceReturns {
      public:
        /// The record of these places is gone. No lock is held.
        virtual void return_displaced(const HeldPlaces& places) noexcept = 0;
    };

    /// How long places are a node's own after the call that renewed them.
    static constexpr std::chrono::milliseconds kPlacesLast{10'000};

    /// The arguments must outlive it.
    NodeFlights(EngineContext& context, Returns& returns) : context_(context), returns_(returns) {}

    /// Takes a place for a request, or refuses it; kAsk: only Redis can tell. `others_wait`:
    /// requests that came before wait for the next place.
    FlightAnswer enter(const FlightName& name, std::int64_t limit, bool others_wait);
    /// Takes a place while Redis is unreachable: see Flights::enter_alone.
    FlightAnswer enter_alone(const FlightName& name, std::int64_t limit, bool without_limit);
    /// A request that has entered has ended. Returns whether its place is to be returned at once.
    bool leave(const FlightKey& key) noexcept;
    /// The requests of this node in flight, and the places of the others when Redis last answered.
    std::int64_t in_flight(const FlightKey& key) const;

    /// The places that the node asks Redis for now, with those for `waiters` more requests.
    FlightAsk ask_for(const FlightName& name, std::int64_t limit, std::int64_t waiters);
    /// What a reply changes.
    struct Change {
        /// How many of the waiters have got a place; nothing: the zone has no room.
        std::optional<std::int64_t> taken;
        /// The limit is reached.
        bool is_full;
    };
    /// Applies a reply to a call that was sent then, for so many waiters.
    Change apply(const FlightName& name, const FlightAsk& ask, ExactSteadyTime sent,
                 const redis::PlacesGiven& given, std::int64_t waiters);
    /// Redis has no place left: it is not asked again for a moment.
    void note_full(const FlightKey& key);

    /// Other nodes want places: those that are free, or become free, are to be returned at once.
    void note_recall(const FlightKey& key);
    /// Whether that is so.
    bool is_recalled(const FlightKey& key) const;
    /// Gives up the places that no request has used for a while; if they are recalled, or
    /// `at_once`: those that none uses now. Returns how Redis is told; nothing if there are none.
    std::optional<FlightAsk> return_unused(const FlightKey& key, bool at_once);
    /// Those whose places the node holds although it has none of their requests. Reads the whole
    /// zone. Throws std::bad_alloc.
    std::vector<FlightName> idle() const;
    /// What happens to the places that are left.
    struct Upkeep {
        bool is_over = false;                ///< nothing is left: nobody needs the key any more
        std::optional<FlightAsk> renewal{};  ///< how Redis is asked to renew them, if it is time
    };
    /// Decides that. `is_calling`: places are asked for now. `is_idle`: nor does a request wait.
    Upkeep keep_up(const FlightKey& key, std::int64_t limit, bool is_calling, bool is_idle);

  private:
    EngineContext& context_;
    Returns& returns_;
};

/// Frees what these processes have left of their requests: they have ended.
void drop_flights(Zone& zone, std::span<const std::uint32_t> processes);

}  // namespace tollgate::engine
