#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "t/unit/management/memory_database.hpp"
#include "t/unit/management/operation_automaton.hpp"

namespace tollgate::management {

/// Executes operations at the same time in every order of their transactions, from the same data.
/// Orders that lead to the same data and to the same states of all operations are one. In addition,
/// one operation is killed after each of its changes. A wait ends when another operation has
/// changed something; or, in other orders, the operation repeats its waits until it goes on.
///
/// The orders with the fewest switches come first: a switch is a step of another operation although
/// the one before could go on; a kill counts as one. So a search that ends early has found what few
/// switches can do, and the order that it shows is a short one (Musuvathi and Qadeer, "Iterative
/// Context Bounding for Systematic Testing of Multithreaded Programs", 2007).
class OrderSearch {
  public:
    /// What one order has led to.
    struct World {
        MemoryDatabase::Data data{};
        std::vector<OperationAutomaton::State> states{};
        /// By operation: whether another one has changed something since its wait began.
        std::vector<bool> may_go_on{};
        std::set<std::string> unannounced{};  ///< the digests whose last change was not announced
        std::optional<std::size_t> killed{};  ///< the operation that was killed
        std::optional<std::size_t> last{};    ///< the operation that took the last step
        std::size_t switches = 0;
        /// What was done: for each choice the number of the operation as a digit, or kKill and it.
        std::string order{};
    };

    OrderSearch(MemoryDatabase::Data start, bool is_cluster,
                const std::vector<OperationAutomaton::Operation>& operations) {
        database_.is_cluster = is_cluster;
        start_.data = std::move(start);
        for (const auto& operation : operations) {
            operations_.emplace_back(operation, std::to_string(operations_.size()) + ".",
                                     is_cluster);
            start_.states.push_back(0);
            start_.may_go_on.push_back(false);
        }
        push(start_);
    }

    /// How far a search has come.
    struct Result {
        std::size_t states = 0;
        bool is_complete = false;
        std::size_t switches = 0;  ///< every order with at most so many switches was executed
    };
    /// Calls `judge_end` at the end of each order, and `judge` after each step. Stops at the first
    /// failure of a test, or after this number of states.
    using Judge = std::function<void(const World&)>;
    Result run(const Judge& judge, const Judge& judge_end, std::size_t most_states) {
        Result result;
        while (result.switches < waiting_.size()) {
            auto& next = waiting_[result.switches];
            if (next.empty()) {
                ++result.switches;
                continue;
            }
            if (visited_.size() == most_states || testing::Test::HasFailure()) {
                break;
            }
            const World world = std::move(next.back());
            next.pop_back();
            if (!visited_.insert(hash_of(world)).second) {
                continue;
            }
            judge(world);
            bool has_ended = true;
            for (std::size_t i = 0; i < operations_.size(); ++i) {
                if (is_running(world, i)) {
                    has_ended = false;
                    branch(world, i);
                }
            }
            if (has_ended) {
                judge_end(world);
            }
        }
        result.is_complete = result.switches == waiting_.size();
        result.switches -= result.switches == 0 ? 0 : 1;
        result.states = visited_.size();
        return result;
    }

    bool is_running(const World& world, std::size_t operation) const {
        return world.killed != operation &&
               !operations_[operation].is_done(world.states[operation]);
    }
    /// Whether the operation has acknowledged what it promises.
    bool has_succeeded(const World& world, std::size_t operation) const {
        return operations_[operation].is_done(world.states[operation]) &&
               !operations_[operation].failure(world.states[operation]);
    }
    std::optional<Reason> failure(const World& world, std::size_t operation) const {
        return operations_[operation].failure(world.states[operation]);
    }
    int audited(const World& world, std::size_t operation) const {
        return operations_[operation].audited(world.states[operation]);
    }

    /// The commands that Redis has executed, a transaction a line, and why operations have failed.
    std::string text_of(const World& world) {
        std::string text = "\n";
        World again = start_;
        trace_ = &text;
        for (std::size_t at = 0; at < world.order.size(); ++at) {
            const bool is_kill = world.order[at] == kKill;
            at += is_kill ? 1 : 0;
            const auto i = static_cast<std::size_t>(world.order[at] - '0');
            if (is_kill) {
                text.append(std::to_string(i)).append(" is killed\n");
            } else {
                go_on(again, i);
            }
        }
        trace_ = nullptr;
        for (std::size_t i = 0; i < operations_.size(); ++i) {
            const auto reason = failure(world, i);
            text.append(std::to_string(i)).append(has_succeeded(world, i) ? " has succeeded" : "");
            text.append(reason ? " has failed: " + std::to_string(static_cast<int>(*reason)) : "");
            text.append(1, '\n');
        }
        return text;
    }

  private:
    static constexpr char kKill = 'k';

    void branch(const World& world, std::size_t i) {
        const auto& operation = operations_[i];
        if (!world.killed && operation.has_written(world.states[i])) {
            World next = world;
            next.killed = i;
            ++next.switches;
            next.order.append(1, kKill).append(std::to_string(i));
            push(std::move(next));
        }
        World next = world;
        next.order += std::to_string(i);
        next.switches += world.last && *world.last != i && is_running(world, *world.last) ? 1 : 0;
        next.last = i;
        go_on(next, i);
        push(std::move(next));
    }

    void push(World world) {
        waiting_.resize(std::max(waiting_.size(), world.switches + 1));
        waiting_[world.switches].push_back(std::move(world));
    }

    /// Executes the next transaction of an operation. If it waits for others, which have changed
    /// nothing, it waits until it waits no more.
    void go_on(World& world, std::size_t i) {
        const auto& operation = operations_[i];
        const bool waits = operation.is_waiting(world.states[i]) && !world.may_go_on[i];
        do {
            step(world, i);
        } while (waits && is_running(world, i) && !operation.has_written(world.states[i]));
    }

    /// Executes one transaction of an operation, or ends its wait.
    void step(World& world, std::size_t i) {
        auto& operation = operations_[i];
        if (operation.is_waiting(world.states[i])) {
            world.states[i] = operation.after(world.states[i], std::nullopt);
            world.may_go_on[i] = false;
            return;
        }
        const Transaction& transaction = operation.next(world.states[i]);
        const auto before = visible_records(world.data);
        std::swap(database_.data, world.data);
        Replies replies;
        database_.execute({transaction}, [&](Database::Outcome outcome) {
            replies = std::move(std::get<std::vector<Replies>>(outcome).front());
        });
        std::swap(database_.data, world.data);
        if (trace_ != nullptr) {
            note(i, transaction, replies);
        }
        const auto names = transaction.names;
        world.states[i] = operation.after(world.states[i], replies);
        if (!operation.has_written(world.states[i])) {
            return;
        }
        for (std::size_t other = 0; other < operations_.size(); ++other) {
            world.may_go_on[other] = world.may_go_on[other] || other != i;
        }
        note_changes(world, before, names);
    }

    void note(std::size_t i, const Transaction& transaction, const Replies& replies) {
        trace_->append(std::to_string(i)).append(replies ? ": " : ": refused: ");
        const auto add = [&](const redis::Command& command) {
            for (const auto& word : command) {
                trace_->append(word).append(1, ' ');
            }
            trace_->append("; ");
        };
        for (const auto& condition : transaction.conditions) {
            trace_->append("IF ");
            add(condition.command);
        }
        std::ranges::for_each(transaction.commands, add);
        std::ranges::for_each(transaction.names, [&](const std::string& name) {
            trace_->append("announces ").append(name).append("; ");
        });
        for (const auto& reply : replies.value_or(std::vector<redis::Value>())) {
            trace_->append("-> ").append(OperationAutomaton::text_of(reply));
        }
        trace_->append(1, '\n');
    }

    using Records = std::map<std::string, std::map<std::string, std::string>>;

    /// What gateways see of the records.
    static Records visible_records(const MemoryDatabase::Data& data) {
        Records records;
        for (const auto& [name, hash] : data.hashes) {
            if (name.starts_with("t:key:") && hash.contains("state") &&
                hash.at("state") == "active") {
                auto& record = records[name.substr(std::string_view("t:key:").size())];
                record = hash;
                for (const char* unseen : {"operation", "rotation", "request", "hint", "issued"}) {
                    record.erase(unseen);
                }
            }
        }
        return records;
    }

    static void note_changes(World& world, const Records& before,
                             const std::vector<std::string>& names) {
        const auto after = visible_records(world.data);
        for (const auto& [digest, record] : before) {
            const auto now = after.find(digest);
            if (now == after.end() || now->second != record) {
                world.unannounced.insert(digest);
            }
        }
        for (const auto& name : names) {
            world.unannounced.erase(name);
        }
    }

    class Hash {
      public:
        void add(std::string_view text) {
            for (const char byte : text) {
                add_byte(static_cast<unsigned char>(byte));
            }
            add_byte(kEnd);
        }
        void add(std::uint64_t number) { value_ = (value_ ^ number) * kPrime; }
        std::uint64_t value() const { return value_ ^ value_ >> 29U; }

      private:
        void add_byte(unsigned byte) { value_ = (value_ ^ byte) * kPrime; }

        static constexpr unsigned kEnd = 0x100;
        // FNV-1a of 64 bits.
        static constexpr std::uint64_t kPrime = 0x100000001b3;
        std::uint64_t value_ = 0xcbf29ce484222325;
    };

    static std::uint64_t hash_of(const World& world) {
        Hash hash;
        const auto add_maps = [&](const auto& maps) {
            for (const auto& [name, map] : maps) {
                hash.add(name);
                for (const auto& [field, value] : map) {
                    hash.add(field);
                    hash.add(value);
                }
            }
            hash.add(maps.size());
        };
        const auto add_set = [&](const std::set<std::string>& set) {
            for (const auto& element : set) {
                hash.add(element);
            }
            hash.add(set.size());
        };
        add_maps(world.data.hashes);
        add_maps(world.data.scores);
        for (const auto& [name, set] : world.data.sets) {
            hash.add(name);
            add_set(set);
        }
        add_set(world.data.expiring);
        add_set(world.data.of_other_types);
        add_set(world.unannounced);
        for (std::size_t i = 0; i < world.states.size(); ++i) {
            hash.add(world.states[i]);
            hash.add(world.may_go_on[i] ? 1 : 0);
        }
        hash.add(world.killed ? *world.killed + 1 : 0);
        hash.add(world.last ? *world.last + 1 : 0);
        return hash.value();
    }

    MemoryDatabase database_;
    World start_;
    std::string* trace_ = nullptr;  ///< where text_of() writes
    std::deque<OperationAutomaton> operations_;
    std::vector<std::vector<World>> waiting_;  ///< by the number of switches
    std::unordered_set<std::uint64_t> visited_;
};

}  // namespace tollgate::management
