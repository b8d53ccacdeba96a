#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "t/unit/engine/ordered_node.hpp"
#include "t/unit/engine/script_automaton.hpp"

namespace tollgate::engine {

/// The states of a node. What a node does depends on what it was told before, and on nothing else:
/// so each state is computed once, and a search returns to any of them. A node cannot be copied: a
/// state that is not computed yet is reached from the first one, with the same events, unless one
/// of the executions that are kept is on the way.
class NodeAutomaton {
  public:
    /// The first state is 0.
    using State = std::size_t;

    /// The arguments must outlive it.
    NodeAutomaton(const OrderedNodeSetup& setup, const ScriptAutomaton& redis)
        : setup_(setup), redis_(redis) {
        states_.emplace_back();
        states_.back().view = execution_of(0).view();
    }
    NodeAutomaton(const NodeAutomaton&) = delete;
    NodeAutomaton& operator=(const NodeAutomaton&) = delete;

    const OrderedNodeSetup& setup() const { return setup_; }
    const NodeView& view(State state) const { return states_[state].view; }
    std::size_t states() const { return states_.size(); }

    State after(State state, const NodeEvent& event) {
        const auto [place, is_new] = states_[state].followers.try_emplace(event, states_.size());
        if (is_new) {
            OrderedNode& node = execution_of(state);
            apply(node, event);
            executions_.back().state = states_.size();
            states_.push_back(Node{.before = state, .event = event, .view = node.view()});
        }
        return place->second;
    }

  private:
    struct Node {
        State before = 0;
        NodeEvent event{};
        NodeView view{};
        std::map<NodeEvent, State> followers{};
    };
    struct Execution {
        State state;
        std::unique_ptr<OrderedNode> node;
    };
    static constexpr std::size_t kMostExecutions = 8;

    void apply(OrderedNode& node, const NodeEvent& event) {
        node.apply(event, event.kind == NodeEvent::Kind::kReply ? redis_.reply(event.reply)
                                                                : redis::ReplyValues());
    }

    /// An execution that has reached this state: the last one of `executions_`.
    OrderedNode& execution_of(State state) {
        std::vector<State> way;  // The last one first.
        auto found = executions_.end();
        for (State at = state;; at = states_[at].before) {
            found = std::ranges::find(executions_, at, &Execution::state);
            if (found != executions_.end() || at == 0) {
                break;
            }
            way.push_back(at);
        }
        Execution execution{0, nullptr};
        if (found != executions_.end()) {
            execution = std::move(*found);
            executions_.erase(found);
        } else {
            execution.node = std::make_unique<OrderedNode>(setup_);
        }
        for (auto at = way.rbegin(); at != way.rend(); ++at) {
            apply(*execution.node, states_[*at].event);
        }
        execution.state = state;
        if (executions_.size() == kMostExecutions) {
            executions_.pop_front();
        }
        executions_.push_back(std::move(execution));
        return *executions_.back().node;
    }

    const OrderedNodeSetup& setup_;
    const ScriptAutomaton& redis_;
    std::deque<Node> states_;
    std::deque<Execution> executions_;  ///< the last used one last
};

}  // namespace tollgate::engine
