#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "t/unit/engine/ordered_events.hpp"

namespace tollgate::engine {

/// Executes what happens at nodes that share a Redis in every order within a bound. Orders that
/// lead to the same states of Redis and of all nodes are one from there on: each such state is
/// visited once, and the orders are counted.
class CallOrders : public OrderedEvents {
  public:
    using OrderedEvents::OrderedEvents;

    /// What happens besides the requests and their calls.
    struct Bound {
        std::size_t passes = 0;  ///< how often time passes, until a node does something
        std::size_t faults = 0;  ///< how many of the following
        bool kills = false;      ///< a node, or one of its workers if it has several
        bool stalls = false;     ///< a node does nothing for kStall
        bool breaks = false;     ///< a connection breaks while calls are under way
        bool leaves = false;     ///< the client of a request leaves while the request waits
    };
    /// Says what is wrong; nothing: an empty text.
    class Judge {
      public:
        Judge() = default;
        Judge(const Judge&) = delete;
        Judge& operator=(const Judge&) = delete;
        virtual ~Judge() = default;
        /// After each event.
        virtual std::string step(const World& world) const = 0;
        /// After everything has ended, and kQuiet has passed.
        virtual std::string end(const World& world) const = 0;
    };
    /// Events that come before all others, in this order. Everything else follows at once.
    void begin_with(const std::vector<Event>& events) { begin(events); }

    struct Result {
        double orders = 0;
        std::size_t states = 0;       ///< of the whole
        std::size_t node_states = 0;  ///< of the nodes, each computed once
        std::string failure{};        ///< what is wrong, and the order that has led to it
    };
    /// Stops at the first failure.
    Result run(const Bound& bound, const Judge& judge) {
        bound_ = bound;
        judge_ = &judge;
        orders_.clear();
        failure_.clear();
        Result result{.orders = count(start())};
        result.states = orders_.size();
        result.node_states = node_states();
        result.failure = failure_;
        return result;
    }

  private:
    void judge(const std::string& failure) {
        if (!failure.empty() && failure_.empty()) {
            failure_ = failure + way();
        }
    }
    /// The events so far.
    std::string way() const {
        std::string text = "\n";
        for (const auto& [event, now] : way_) {
            text.append(std::to_string(now.count() / 1000)).append(" ms: ").append(text_of(event));
        }
        return text;
    }

    /// Visits what follows, and returns the number of orders.
    double count(const World& world) {
        const auto [place, is_new] = orders_.try_emplace(hash_of(world), 0);
        if (!is_new) {
            return place->second;
        }
        const auto hash = place->first;
        judge(judge_->step(world));
        double orders = 0;
        bool has_next = false;
        for (const Event& event : events(world)) {
            if (!failure_.empty()) {
                return 0;
            }
            World next = world;
            way_.emplace_back(event, world.now);
            apply(next, event);
            has_next = has_next || event.kind != Event::Kind::kPass;
            orders += count(next);
            way_.pop_back();
        }
        if (!has_next && failure_.empty()) {
            World last = world;
            quiet(last, world.now + kQuiet, nodes(), true);
            judge(judge_->end(last));
            orders += 1;
        }
        return orders_[hash] = orders;
    }

    std::vector<Event> events(const World& world) {
        std::vector<Event> events;
        for (std::size_t i = 0; i < nodes(); ++i) {
            const auto& node = world.nodes[i];
            add_calls(events, world, i);
            if (!bound_.breaks || world.faults == bound_.faults) {
                std::erase_if(events,
                              [](const Event& event) { return event.kind == Event::Kind::kLose; });
            }
            if (node.is_killed) {
                continue;
            }
            const NodeView& seen = view(world, i);
            const auto first = static_cast<std::size_t>(
                std::ranges::find(seen.requests, NodeView::Request::kNone) - seen.requests.begin());
            if (first < seen.requests.size() && may_begin(world, i, first)) {
                events.push_back({Event::Kind::kBegin, i, first});
            }
            for (std::size_t request = 0; request < seen.requests.size(); ++request) {
                if (setup(i).requests_end && seen.requests[request] == NodeView::Request::kRuns) {
                    events.push_back({Event::Kind::kEnd, i, request});
                }
            }
            if (!node.messages.empty()) {
                events.push_back({Event::Kind::kMessage, i});
            }
            if (world.faults < bound_.faults) {
                add_faults(events, world, i);
            }
        }
        if (world.changes < changes()) {
            events.push_back({Event::Kind::kChange});
        }
        if (world.passes < bound_.passes) {
            World next = world;
            if (pass(next, world.now + kQuiet, nodes())) {
                events.push_back({Event::Kind::kPass});
            }
        }
        return events;
    }

    /// The first worker is never killed alone.
    bool may_begin(const World& world, std::size_t i, std::size_t request) const {
        const std::size_t worker = setup(i).requests[request].worker;
        return worker == 0 || worker > world.nodes[i].killed_workers;
    }

    void add_faults(std::vector<Event>& events, const World& world, std::size_t i) const {
        const auto& node = world.nodes[i];
        const NodeView& seen = view(world, i);
        const bool has_begun =
            !seen.requests.empty() && seen.requests.front() != NodeView::Request::kNone;
        if (bound_.kills && has_begun && setup(i).workers == 1) {
            events.push_back({Event::Kind::kKill, i});
        }
        if (bound_.kills && has_begun && node.killed_workers + 1 < setup(i).workers) {
            events.push_back({Event::Kind::kKillWorker, i, 1 + node.killed_workers});
        }
        for (std::size_t request = 0; bound_.leaves && request < seen.requests.size(); ++request) {
            if (seen.requests[request] == NodeView::Request::kWaits) {
                events.push_back({Event::Kind::kLeave, i, request});
            }
        }
        if (bound_.stalls && has_begun) {
            events.push_back({Event::Kind::kStall, i});
        }
        for (std::size_t worker = 0; bound_.breaks && worker < setup(i).workers; ++worker) {
            for (std::size_t call = 0; call < node.calls.size(); ++call) {
                if (is_under_way(world, i, call, worker)) {
                    events.push_back({Event::Kind::kBreak, i, worker});
                    break;
                }
            }
        }
    }

    static std::uint64_t hash_of(const World& world) {
        std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, a word at a time
        const auto add = [&](std::uint64_t number) {
            hash = (hash ^ number) * 0x100000001b3;
            hash ^= hash >> 29U;
        };
        for (const auto& node : world.nodes) {
            add(node.state);
            add(node.is_killed ? 1 : 2 + node.killed_workers);
            add(static_cast<std::uint64_t>(node.executed));
            for (const auto& call : node.calls) {
                add(static_cast<std::uint64_t>(call.progress) * 1'000'003 + call.reply);
            }
            for (const auto& message : node.messages) {
                add(std::hash<std::string>()(message));
            }
            for (const std::size_t stale : node.stale) {
                add(stale);
            }
            add(node.messages.size());
        }
        add(world.redis);
        add(static_cast<std::uint64_t>(world.now.count()));
        add(world.faults * 100 + world.passes * 10 + world.changes);
        return hash;
    }

    Bound bound_;
    const Judge* judge_ = nullptr;
    std::string failure_;
    std::unordered_map<std::uint64_t, double> orders_;
    std::vector<std::pair<Event, Time>> way_;
};

}  // namespace tollgate::engine
