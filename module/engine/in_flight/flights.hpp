#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "module/engine/engine_context.hpp"
#include "module/engine/in_flight/node_flights.hpp"
#include "module/engine/node_call.hpp"
#include "module/plan/table_quota.hpp"
#include "module/process/wait_list.hpp"
#include "module/redis/protocol/flight_call.hpp"

namespace tollgate::engine {

/// Waits for a place. May be destroyed at any time; no callback follows.
class FlightWaiter : public WaitLink<FlightWaiter> {
  public:
    virtual ~FlightWaiter() = default;

    /// The answer is not kAsk.
    virtual void on_place(FlightAnswer answer) noexcept = 0;
};

/// Limits the requests in flight of an id over all nodes: `in_flight`. A node holds places of the
/// id in Redis, for all of its workers, and counts its requests in the zone. A request that finds a
/// free place needs no call of Redis. The node renews its places while it has requests, and returns
/// those that were not used for a second; those that are recalled, at once. Places of a node that
/// dies are free again after NodeFlights::kPlacesLast; those of a worker that dies as soon as
/// another worker notices. If Redis refuses a command that this needs, each node limits its
/// requests alone.
class Flights : private Pinned, private NodeFlights::Returns {
  public:
    /// The context must outlive it.
    explicit Flights(EngineContext& context);

    /// The key of an id in this table of the Redis.
    FlightKey key_of(const IdHash& id, std::uint32_t table) const {
        return {.id = id, .redis = context_.settings().name_hash, .table = table};
    }
    /// Takes a place for a request of this id, or refuses it, as far as the node can. Otherwise
    /// returns kAsk, and the waiter gets the answer. Throws std::bad_alloc.
    FlightAnswer enter(std::string_view id, const FlightKey& key, const TableQuota& quota,
                       FlightWaiter& waiter);
    /// Takes one while Redis is unreachable. The node has its share of the limit, at least one
    /// place. `without_limit`: any number. Throws std::bad_alloc.
    FlightAnswer enter_alone(std::string_view id, const FlightKey& key, const TableQuota& quota,
                             bool without_limit);
    /// A request that has entered has ended.
    void leave(const FlightKey& key) noexcept;
    /// The requests of this node in flight, and the places of the others when Redis last answered.
    std::int64_t in_flight(const FlightKey& key) const { return node_.in_flight(key); }

    /// Another node refuses requests of this id. Returns the places of the node that no request
    /// uses, now and as soon as one of any worker ends: the zone has the recall.
    void recall(std::string_view id) noexcept;
    /// Workers have been killed, and their requests are forgotten. Returns the places of this Redis
    /// that no request of the node uses, as soon as Redis can be reached.
    void return_idle() noexcept;
    /// A graceful shutdown of this worker has begun.
    void shut_down() noexcept;

  private:
    class Reply;
    /// An id in a table, as this worker uses it.
    struct Entry {
        std::string id;
        std::string table;
        std::int64_t limit = 0;
        WaitList<FlightWaiter> asked;    ///< wait for the call under way
        WaitList<FlightWaiter> waiting;  ///< wait for the next call
        bool is_calling = false;         ///< for places; calls that return some do not count
        int refusals = 0;                ///< of the waiters, for which places were recalled
        SteadyTime pause_ends{};         ///< when nodes have returned the recalled places; 0: none
    };
    struct KeyHash {
        std::size_t operator()(const FlightKey& key) const noexcept { return key.hash(); }
    };
    using Entries = std::unordered_map<FlightKey, Entry, KeyHash>;

    void start_timer();
    Entry& entry_of(std::string_view id, const FlightKey& key, const TableQuota& quota);
    void call_for_waiters(const FlightKey& key, Entry& entry);
    void return_unused(const FlightKey& key, std::string_view id, std::string_view table,
                       bool at_once);
    void return_free(const FlightKey& key) noexcept;
    bool can_return(const FlightKey& key) const noexcept override;
    void return_displaced(const HeldPlaces& places) noexcept override;
    bool may_call(std::string_view id) const;
    const PlanTable* table_of(const FlightKey& key) const;
    void visit_idle();
    void send(const FlightKey& key, std::string_view id, std::string_view table,
              const FlightAsk& ask);
    void call(const FlightKey& key, Entry& entry, const FlightAsk& ask);
    bool pause(const FlightKey& key, Entry& entry) noexcept;
    void on_pause_end() noexcept;
    void on_places(const FlightName& name, const FlightAsk& ask, ExactSteadyTime sent,
                   const redis::PlacesGiven& given);
    void answer(const FlightKey& key, Entry& entry, const NodeFlights::Change& change,
                bool may_recall);
    void on_failure(const FlightKey& key, const FlightAsk& ask, FlightAnswer answer) noexcept;
    void on_timer() noexcept;
    bool visit(const FlightKey& key, Entry& entry);
    std::vector<FlightKey> keys() const;

    EngineContext& context_;
    NodeFlights node_{context_, *this};
    NodeCall calls_{context_, LogLevel::kError,
                    "requests in flight are limited by each node alone: "};
    SteadyTime refused_until_{};  ///< Redis is not asked before: it has refused a call
    Entries entries_;
    std::vector<FlightName> idle_;  ///< see return_idle
    SteadyTime idle_until_{};       ///< Redis forgets their places then
    bool is_waiting_ = false;       ///< the timer runs
    std::unique_ptr<Timer> timer_;
    /// The entries that pause, and until when: all pauses take the same time.
    std::deque<std::pair<SteadyTime, FlightKey>> pausing_;
    std::unique_ptr<Timer> pause_;  ///< runs until the first one ends
};

}  // namespace tollgate::engine
