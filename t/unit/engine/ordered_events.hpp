#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "t/unit/engine/node_automaton.hpp"

namespace tollgate::engine {

/// What happens at nodes that share a Redis, an event at a time. A call is sent, executed and
/// answered in three steps, between which anything else may happen.
class OrderedEvents {
  public:
    using Time = Timeline::Time;

    static constexpr Time kStall = std::chrono::seconds(11);

    static constexpr Time kQuiet = std::chrono::seconds(12);

    /// Somebody changes a record in Redis, and announces it.
    struct Change {
        std::string name;
        std::function<void(ScriptAutomaton::Data&)> make;
        std::string message;
    };

    struct Event {
        enum class Kind {
            kBegin,
            kEnd,
            kLeave,
            kExecute,  ///< the next call of the connection of call `number`
            kDrop,     ///< those of a lost connection will not be executed
            kReply,
            kMessage,
            kBreak,
            kLose,
            kKill,
            kKillWorker,
            kStall,
            kPass,
            kChange,
        };
        Kind kind{};
        std::size_t node = 0;
        std::size_t number = 0;
    };

    struct World {
        struct Call {
            enum class Progress { kSent, kExecuted, kOver };
            Progress progress = Progress::kSent;
            std::size_t reply = 0;
        };
        struct Node {
            NodeAutomaton::State state = 0;
            std::vector<Call> calls{};
            std::vector<std::string> messages{};  ///< that have not arrived
            bool is_killed = false;
            std::vector<std::size_t> lost{};  ///< calls whose replies will not come
            std::size_t killed_workers = 0;
            std::int64_t executed = 0;      ///< its calls since time has passed
            std::set<std::size_t> stale{};  ///< the requests that ran when the node stalled
        };
        std::vector<Node> nodes{};
        ScriptAutomaton::State redis = 0;
        Time now{};
        std::size_t faults = 0;
        std::size_t passes = 0;
        std::size_t changes = 0;
    };

    /// The setups must outlive it.
    OrderedEvents(const std::vector<const OrderedNodeSetup*>& setups, ScriptAutomaton& redis,
                  ScriptAutomaton::Data data = {}, std::vector<Change> changes = {})
        : redis_(redis), changes_(std::move(changes)) {
        start_.redis = redis.state_of(std::move(data));
        for (const auto* setup : setups) {
            nodes_.emplace_back(*setup, redis);
            start_.nodes.emplace_back();
        }
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            note_calls(start_, i);
        }
    }

    const NodeView& view(const World& world, std::size_t node) const {
        return nodes_[node].view(world.nodes[node].state);
    }
    const OrderedNodeSetup& setup(std::size_t node) const { return nodes_[node].setup(); }
    const ScriptAutomaton::Data& data(const World& world) const { return redis_.data(world.redis); }
    /// By the clocks of Redis and of the nodes.
    static Instant time_of(const World& world) {
        return kOrdersBegin + std::chrono::floor<std::chrono::milliseconds>(world.now);
    }

  protected:
    using Progress = World::Call::Progress;

    /// The world before the first event.
    const World& start() const { return start_; }
    /// Applies events that come before all others, in this order. Everything else follows at once.
    void begin(const std::vector<Event>& events) {
        for (const Event& event : events) {
            apply(start_, event);
            settle(start_, nodes());
        }
    }
    std::size_t nodes() const { return nodes_.size(); }
    std::size_t changes() const { return changes_.size(); }
    /// How many states of nodes were computed.
    std::size_t node_states() const {
        std::size_t states = 0;
        for (const auto& node : nodes_) {
            states += node.states();
        }
        return states;
    }

    /// Whether a worker waits for the reply to this call.
    bool is_under_way(const World& world, std::size_t i, std::size_t call,
                      std::size_t worker) const {
        const auto& one = view(world, i).calls[call];
        return one.is_awaited && !one.is_late && one.connection % setup(i).workers == worker;
    }

    /// What may happen to the calls of a node. Those of a connection are executed and answered in
    /// their order.
    void add_calls(std::vector<Event>& events, const World& world, std::size_t i) const {
        const auto& node = world.nodes[i];
        const NodeView& seen = view(world, i);
        std::set<std::size_t> has_sent;
        std::set<std::size_t> has_executed;
        for (std::size_t number = 0; number < node.calls.size(); ++number) {
            const auto& call = seen.calls[number];
            const Progress progress = node.calls[number].progress;
            if (progress == Progress::kSent && has_sent.insert(call.connection).second) {
                events.push_back({Event::Kind::kExecute, i, number});
                if (node.is_killed || (call.is_late && !call.is_awaited)) {
                    events.push_back({Event::Kind::kDrop, i, number});
                }
            }
            if (progress != Progress::kOver && call.is_awaited && !node.is_killed &&
                has_executed.insert(call.connection).second) {
                if (progress == Progress::kExecuted) {
                    events.push_back({Event::Kind::kReply, i, number});
                }
                if (call.is_late) {
                    events.push_back({Event::Kind::kLose, i, number});
                }
            }
        }
    }

    void apply(World& world, const Event& event) {
        auto& node = world.nodes[event.node];
        const auto number = static_cast<std::int64_t>(event.number);
        switch (event.kind) {
            case Event::Kind::kBegin:
                tell(world, event.node, {NodeEvent::Kind::kBegin, number});
                break;
            case Event::Kind::kEnd:
                tell(world, event.node, {NodeEvent::Kind::kEnd, number});
                break;
            case Event::Kind::kLeave:
                ++world.faults;  // It loses nothing.
                tell(world, event.node, {NodeEvent::Kind::kEnd, number});
                break;
            case Event::Kind::kExecute:
                execute(world, event.node, event.number);
                break;
            case Event::Kind::kDrop: {
                const auto& calls = view(world, event.node).calls;
                for (std::size_t i = event.number; i < node.calls.size(); ++i) {
                    if (calls[i].connection == calls[event.number].connection) {
                        node.calls[i].progress = Progress::kOver;
                    }
                }
                break;
            }
            case Event::Kind::kReply:
                node.calls[event.number].progress = Progress::kOver;
                tell(world, event.node,
                     {NodeEvent::Kind::kReply, number, node.calls[event.number].reply});
                break;
            case Event::Kind::kMessage: {
                const std::string message = node.messages.front();
                node.messages.erase(node.messages.begin());
                tell(world, event.node, {NodeEvent::Kind::kMessage, 0, 0, message});
                break;
            }
            case Event::Kind::kBreak:
                ++world.faults;
                for (std::size_t call = 0; call < node.calls.size(); ++call) {
                    if (is_under_way(world, event.node, call, event.number)) {
                        node.lost.push_back(call);
                    }
                }
                tell(world, event.node, {NodeEvent::Kind::kBreak, number});
                break;
            case Event::Kind::kLose:
                ++world.faults;
                node.lost.push_back(event.number);
                tell(world, event.node, {NodeEvent::Kind::kLose, number});
                break;
            case Event::Kind::kKill:
                ++world.faults;
                node.is_killed = true;
                node.messages.clear();
                break;
            case Event::Kind::kKillWorker:
                ++world.faults;
                ++node.killed_workers;
                tell(world, event.node, {NodeEvent::Kind::kKillWorker, number});
                break;
            case Event::Kind::kStall:
                stall(world, event.node);
                break;
            case Event::Kind::kPass:
                ++world.passes;
                pass(world, world.now + kQuiet, nodes_.size());
                break;
            case Event::Kind::kChange:
                change(world);
                break;
        }
    }

    /// Time passes until a node does something; all but `stalled` take part. False if none did.
    bool pass(World& world, Time end, std::size_t stalled) {
        Time until = end;
        bool has_acted = false;
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            if (i != stalled && !world.nodes[i].is_killed) {
                const auto next =
                    nodes_[i].after(world.nodes[i].state, {NodeEvent::Kind::kPass, until.count()});
                until = nodes_[i].view(next).now;
            }
        }
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            if (i != stalled && !world.nodes[i].is_killed) {
                tell(world, i, {NodeEvent::Kind::kPass, until.count()});
                has_acted = has_acted || view(world, i).has_acted;
            }
        }
        for (auto& node : world.nodes) {
            node.executed = until == world.now ? node.executed : 0;
        }
        world.now = until;
        return has_acted;
    }

    /// Time passes, and whatever happens is done at once. `ends`: requests end, too.
    void quiet(World& world, Time end, std::size_t stalled, bool ends) {
        do {
            settle(world, stalled);
            for (std::size_t i = 0; ends && i < nodes_.size(); ++i) {
                for (std::size_t request = 0; request < view(world, i).requests.size(); ++request) {
                    if (view(world, i).requests[request] == NodeView::Request::kRuns &&
                        !world.nodes[i].is_killed) {
                        apply(world, {Event::Kind::kEnd, i, request});
                    }
                }
            }
            settle(world, stalled);
            pass(world, end, stalled);
        } while (world.now < end);
        settle(world, stalled);
    }

    std::string text_of(const Event& event) const {
        const std::string node(1, static_cast<char>('A' + event.node));
        const std::string number = " " + std::to_string(event.number + 1);
        switch (event.kind) {
            case Event::Kind::kBegin:
                return node + " begins request" + number + "\n";
            case Event::Kind::kEnd:
                return node + " ends request" + number + "\n";
            case Event::Kind::kLeave:
                return "the client of request" + number + " leaves " + node + "\n";
            case Event::Kind::kExecute:
                return "Redis executes call" + number + " of " + node + "\n";
            case Event::Kind::kDrop:
                return "call" + number + " of " + node + " is not executed\n";
            case Event::Kind::kReply:
                return "the reply to call" + number + " arrives at " + node + "\n";
            case Event::Kind::kMessage:
                return "a message arrives at " + node + "\n";
            case Event::Kind::kBreak:
                return "the connection of worker" + number + " of " + node + " breaks\n";
            case Event::Kind::kLose:
                return "the late reply to call" + number + " of " + node + " is lost\n";
            case Event::Kind::kKill:
                return node + " is killed\n";
            case Event::Kind::kKillWorker:
                return "worker" + number + " of " + node + " is killed\n";
            case Event::Kind::kStall:
                return node + " stalls\n";
            case Event::Kind::kPass:
                return "time passes\n";
            case Event::Kind::kChange:
                return changes_.front().name + " (change)\n";
        }
        return {};
    }

  private:
    /// All messages arrive, and all calls are executed and answered, without time.
    void settle(World& world, std::size_t stalled) {
        for (bool has_more = true; has_more;) {
            has_more = false;
            for (std::size_t i = 0; i < nodes_.size(); ++i) {
                std::vector<Event> events;
                if (i != stalled) {
                    add_calls(events, world, i);
                }
                if (i != stalled && !world.nodes[i].messages.empty()) {
                    events.insert(events.begin(), {Event::Kind::kMessage, i});
                }
                if (!events.empty()) {
                    has_more = true;
                    apply(world, events.front());
                }
            }
        }
    }

    void stall(World& world, std::size_t i) {
        ++world.faults;  // It loses nothing.
        auto& node = world.nodes[i];
        const auto& requests = view(world, i).requests;
        for (std::size_t request = 0; request < requests.size(); ++request) {
            if (requests[request] == NodeView::Request::kRuns) {
                node.stale.insert(request);
            }
        }
        quiet(world, world.now + kStall, i, false);
        tell(world, i, {NodeEvent::Kind::kStall, world.now.count()});
    }

    void tell(World& world, std::size_t i, const NodeEvent& event) {
        auto& node = world.nodes[i];
        node.state = nodes_[i].after(node.state, event);
        note_calls(world, i);
    }
    /// A call that is lost and was executed has no further steps.
    void note_calls(World& world, std::size_t i) const {
        auto& node = world.nodes[i];
        const auto& calls = view(world, i).calls;
        node.calls.resize(calls.size());
        for (std::size_t call = 0; call < calls.size(); ++call) {
            if (!calls[call].is_awaited && node.calls[call].progress == Progress::kExecuted) {
                node.calls[call] = {Progress::kOver, 0};
            }
        }
    }

    void execute(World& world, std::size_t i, std::size_t number) {
        // No two calls of a node are executed at the same time. It matters for no other calls:
        // fewer states differ if each node has times of its own.
        const ExactInstant time =
            ExactInstant(kOrdersBegin) + world.now + Time(++world.nodes[i].executed);
        const auto& result = redis_.run(world.redis, *view(world, i).calls[number].call, time);
        world.redis = result.state;
        world.nodes[i].calls[number] = {Progress::kExecuted, result.reply};
        for (const auto& message : result.messages) {
            publish(world, message);
        }
        note_calls(world, i);
    }
    static void publish(World& world, const std::string& message) {
        for (auto& node : world.nodes) {
            if (!node.is_killed) {
                node.messages.push_back(message);
            }
        }
    }
    void change(World& world) {
        const Change& change = changes_[world.changes++];
        auto data = redis_.data(world.redis);
        change.make(data);
        world.redis = redis_.state_of(std::move(data));
        publish(world, change.message);
    }

    ScriptAutomaton& redis_;
    std::vector<Change> changes_;
    std::deque<NodeAutomaton> nodes_;
    World start_;
};

}  // namespace tollgate::engine
