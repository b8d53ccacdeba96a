#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "module/management/database.hpp"
#include "module/management/random_key.hpp"
#include "module/redis/protocol/schema.hpp"
#include "t/unit/management/memory_database.hpp"

namespace tollgate::management {

/// The states of an operation. What an operation does next depends on the replies that it has
/// received, and on nothing else: so each state is computed once, and a search returns to any of
/// them. A coroutine cannot be copied: a state that is not computed yet is reached from the first
/// one, with the same replies, unless the last computed state leads to it.
///
/// The random names that an operation gives itself are replaced by texts that are the same in each
/// execution.
class OperationAutomaton {
  public:
    using Operation = std::function<Task<void>(Database&)>;
    /// The first state is 0.
    using State = std::size_t;

    /// `label` is a part of the texts that replace random names. `is_cluster`: each key has a slot
    /// of its own.
    OperationAutomaton(Operation operation, std::string label, bool is_cluster)
        : operation_(std::move(operation)), label_(std::move(label)), is_cluster_(is_cluster) {
        live_ = std::make_unique<Execution>(*this);
        nodes_.push_back(live_->node());
    }
    OperationAutomaton(const OperationAutomaton&) = delete;
    OperationAutomaton& operator=(const OperationAutomaton&) = delete;

    bool is_done(State state) const { return nodes_[state].is_done; }
    /// Why it has failed. Empty if it has succeeded, or is not done.
    std::optional<Reason> failure(State state) const { return nodes_[state].failure; }
    /// Whether it waits for some time, and not for a reply.
    bool is_waiting(State state) const { return !is_done(state) && nodes_[state].call->empty(); }
    /// The transaction that is executed next. Of a state that is neither done nor waiting.
    const Transaction& next(State state) const {
        return (*nodes_[state].call)[nodes_[state].position];
    }
    /// How many entries it has added to the audit.
    int audited(State state) const { return nodes_[state].audited; }
    /// Whether the last transaction has changed something.
    bool has_written(State state) const { return nodes_[state].has_written; }

    /// The state after the reply to next(), or after the wait.
    State after(State state, const Replies& replies) {
        const auto [place, is_new] = nodes_[state].followers.try_emplace(text_of(replies), 0);
        if (!is_new) {
            return place->second;
        }
        Node node{.before = state,
                  .replies = replies,
                  .call = nodes_[state].call,
                  .position = nodes_[state].position,
                  .audited = nodes_[state].audited};
        if (!is_waiting(state)) {
            node.has_written = replies && changes(next(state));
            node.audited += node.has_written ? audits(next(state)) : 0;
            ++node.position;
        }
        const State number = nodes_.size();
        place->second = number;
        if (node.position >= node.call->size()) {
            const Node reached = execute(node);
            node.call = reached.call;
            node.position = 0;
            node.is_done = reached.is_done;
            node.failure = reached.failure;
            live_state_ = number;
        }
        nodes_.push_back(std::move(node));
        return number;
    }

    /// A value for messages.
    static std::string text_of(const redis::Value& value) {
        std::string text;
        append(text, value);
        return text;
    }

  private:
    using Call = std::vector<Transaction>;

    struct Node {
        State before = 0;
        Replies replies{};                   ///< the last ones, between `before` and this
        std::shared_ptr<const Call> call{};  ///< empty: a wait
        std::size_t position = 0;            ///< of the next transaction of the call
        bool is_done = false;
        std::optional<Reason> failure{};
        int audited = 0;
        bool has_written = false;
        std::map<std::string, State> followers{};  ///< by the text of the replies
    };

    /// One execution of the operation.
    class Execution final : public Database {
      public:
        explicit Execution(const OperationAutomaton& automaton)
            : automaton_(automaton), task_(automaton.operation_(*this)) {
            task_.start();
        }

        void execute(std::vector<Transaction> transactions, Done done) override {
            for (auto& transaction : transactions) {
                learn_names(transaction);
                for_each_text(transaction, [this](std::string& text) {
                    const auto name = texts_.find(text);
                    text = name == texts_.end() ? text : name->second;
                });
            }
            call_ = std::make_shared<const Call>(std::move(transactions));
            done_ = std::move(done);
        }
        void wait(std::chrono::milliseconds /*time*/, Done done) override {
            call_ = std::make_shared<const Call>();
            done_ = std::move(done);
        }
        bool may_span(std::string_view /*key*/, std::string_view /*other*/) const override {
            return !automaton_.is_cluster_;
        }
        Task<Durability> acknowledge() override { co_return Durability::kConfirmed; }

        /// Ends the call, or the wait.
        void resume(std::vector<Replies> replies) {
            for (auto& reply : replies) {
                if (reply) {
                    std::ranges::for_each(*reply, [this](redis::Value& value) { rename(value); });
                }
            }
            std::exchange(done_, nullptr)(std::move(replies));
        }

        Node node() {
            Node node{.call = call_, .is_done = task_.is_done()};
            if (node.is_done) {
                try {
                    task_.result();
                } catch (const OperationError& error) {
                    node.failure = error.reason();
                }
            }
            return node;
        }

      private:
        /// A name of the operation is first seen in a field that holds names of operations. A
        /// digest that names a rotation is no random text.
        void learn_names(const Transaction& transaction) {
            for (const auto& command : transaction.commands) {
                for (std::size_t i = 2; command.front() == "HSET" && i + 1 < command.size();
                     i += 2) {
                    const auto& name = command[i + 1];
                    if ((command[i] == redis::record_field::kOperation ||
                         command[i] == redis::record_field::kRotation) &&
                        name.size() == random_operation_name().size() && !texts_.contains(name)) {
                        std::string text = "@" + automaton_.label_ + std::to_string(texts_.size());
                        names_[text] = name;
                        texts_[name] = std::move(text);
                    }
                }
            }
        }

        template <typename Use>
        static void for_each_text(Transaction& transaction, Use use) {
            for (auto& condition : transaction.conditions) {
                std::ranges::for_each(condition.command, use);
                std::ranges::for_each(condition.elements, use);
            }
            for (auto& command : transaction.commands) {
                std::ranges::for_each(command, use);
            }
        }

        void rename(redis::Value& value) const {
            if (const auto name = names_.find(value.text); name != names_.end()) {
                value.text = name->second;
            }
            std::ranges::for_each(value.elements, [this](redis::Value& each) { rename(each); });
        }

        const OperationAutomaton& automaton_;
        std::map<std::string, std::string> texts_{};  ///< in place of names
        std::map<std::string, std::string> names_{};  ///< by these texts
        std::shared_ptr<const Call> call_ = std::make_shared<const Call>();
        Done done_{};
        Task<void> task_;  ///< last: it begins with all others
    };

    /// Executes the operation until the state after this node's replies.
    Node execute(const Node& node) {
        // The calls that the execution has still to receive, the last one first.
        std::vector<std::vector<Replies>> calls;
        const Node* at = &node;
        State state = nodes_.size();
        while (state != live_state_ && state != 0) {
            const Node& last = state == nodes_.size() ? node : nodes_[state];
            std::vector<Replies> replies;
            const std::size_t count = std::max<std::size_t>(nodes_[last.before].call->size(), 1);
            const bool is_wait = nodes_[last.before].call->empty();
            at = &last;
            for (std::size_t i = 0; i < count; ++i) {
                if (!is_wait) {
                    replies.insert(replies.begin(), at->replies);
                }
                state = at->before;
                at = &nodes_[state];
            }
            calls.push_back(std::move(replies));
        }
        if (state != live_state_) {
            live_ = std::make_unique<Execution>(*this);
        }
        for (auto replies = calls.rbegin(); replies != calls.rend(); ++replies) {
            live_->resume(std::move(*replies));
        }
        return live_->node();
    }

    static bool changes(const Transaction& transaction) {
        constexpr std::array<std::string_view, 12> kReads{
            "HGETALL", "HMGET",       "SMEMBERS",      "SISMEMBER", "ZSCORE", "ZRANGE",
            "TIME",    "ZRANGEBYLEX", "ZRANGEBYSCORE", "EXISTS",    "PTTL",   "HGET"};
        return !transaction.names.empty() ||
               std::ranges::any_of(transaction.commands, [&](const redis::Command& command) {
                   return std::ranges::find(kReads, command.front()) == kReads.end();
               });
    }
    static int audits(const Transaction& transaction) {
        return static_cast<int>(std::ranges::count(
            transaction.commands, "XADD",
            [](const redis::Command& command) { return std::string_view(command.front()); }));
    }

    static void append(std::string& text, const redis::Value& value) {
        text += static_cast<char>('0' + static_cast<int>(value.kind));
        text.append(std::to_string(value.integer)).append(1, ' ').append(value.text);
        text.append(1, '(');
        for (const auto& element : value.elements) {
            append(text, element);
        }
        text.append(1, ')');
    }
    static std::string text_of(const Replies& replies) {
        std::string text = replies ? "+" : "-";
        for (const auto& value : replies.value_or(std::vector<redis::Value>())) {
            append(text, value);
        }
        return text;
    }

    Operation operation_;
    std::string label_;
    bool is_cluster_;
    std::vector<Node> nodes_{};
    std::unique_ptr<Execution> live_{};
    State live_state_ = 0;  ///< that `live_` has reached
};

}  // namespace tollgate::management
