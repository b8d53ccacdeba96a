#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "module/engine/settings.hpp"
#include "module/plan/plan.hpp"
#include "module/redis/protocol/script.hpp"
#include "module/text/name_hash.hpp"
#include "t/unit/engine/simulated_process.hpp"
#include "t/unit/engine/timeline.hpp"

namespace tollgate::engine {

/// When the orders of calls begin, by the clocks of Redis and of the nodes: see ScriptAutomaton.
constexpr Instant kOrdersBegin{std::chrono::milliseconds(4'102'444'810'000)};

/// A request of the id `k`.
struct OrderedRequest {
    std::size_t worker = 0;
    std::int64_t cost = 1;
    std::optional<std::int64_t> used{};  ///< its cost is settled with this at its end
    std::string id = "k";
};

/// A node of a scenario: what its workers are configured with, and its requests. It outlives the
/// node.
struct OrderedNodeSetup {
    OrderedNodeSetup() {
        redis.name = "main";
        redis.name_hash = name_hash(redis.name);
        redis.keys = redis::Keys("t:");
        redis.on_failure = FailurePolicy::kDeny;
        table.name = "api";
        served.emplace_back(&table, redis.name_hash);
    }
    ~OrderedNodeSetup() = default;
    OrderedNodeSetup(const OrderedNodeSetup&) = delete;
    OrderedNodeSetup& operator=(const OrderedNodeSetup&) = delete;

    std::uint64_t id = 1;  ///< of the node
    std::size_t workers = 1;
    std::size_t zone_size = std::size_t{64} << 10U;
    RedisSettings redis;
    PlanTable table;
    std::vector<ServedTable> served;
    std::vector<const PlanTable*> set{&table};
    std::vector<OrderedRequest> requests;
    /// Whether the ends of requests do anything: they free a place, or settle a cost.
    bool requests_end = true;
    /// Whether requests have API keys, the texts of their ids, or are subjects of the plan `free`.
    bool have_keys = false;
    /// The scripts whose calls are ordered. The node answers its other calls itself, at once.
    std::vector<const redis::Script*> ordered;
    /// Called with the zone before the first event. The processes of its requests live for ever.
    std::function<void(SimulatedZone&)> prepare = [](SimulatedZone&) {};
};

/// What a node was told, or what happened there.
struct NodeEvent {
    enum class Kind {
        kBegin,       ///< the request `number` begins
        kEnd,         ///< it ends, or its client leaves
        kReply,       ///< the reply `reply` to the call `number` arrives
        kBreak,       ///< the connection of the worker `number` breaks
        kMessage,     ///< the channel `events` has `text`
        kPass,        ///< time passes until `number` us, or until the node does something
        kStall,       ///< the same, but the node does nothing meanwhile
        kLose,        ///< the call `number`, which has timed out, will get no reply
        kKillWorker,  ///< the worker `number` is killed
    };
    Kind kind{};
    std::int64_t number = 0;
    std::size_t reply = 0;
    std::string text{};
    auto operator<=>(const NodeEvent&) const = default;
};

/// What is known of a node after an event.
struct NodeView {
    enum class Request { kNone, kWaits, kRuns, kRefused, kEnded };
    struct Call {
        std::shared_ptr<const redis::Call> call;
        std::size_t connection = 0;  ///< calls of a connection are executed in order
        bool is_awaited = true;      ///< a reply would be read
        bool is_late = false;        ///< it has timed out, or its connection is lost
    };

    Timeline::Time now{};
    bool has_acted = false;             ///< by the last event: it sent a call, or decided a request
    std::vector<Request> requests{};    ///< in the order of the setup
    std::vector<std::size_t> told{};    ///< how many messages had arrived when each of them began
    std::vector<std::int64_t> shown{};  ///< the period of the first window of a granted one, ms
    std::vector<Call> calls{};          ///< since the beginning
    std::int64_t places = 0;            ///< of the id `k`, as the node knows
    std::size_t flights = 0;            ///< the ids of requests that have records of places
    std::int64_t leased = 0;            ///< units in leases
    std::int64_t owed = 0;              ///< units to report, or below 0: to return
    bool holds = false;                 ///< any units, reports or lost calls
};

}  // namespace tollgate::engine
