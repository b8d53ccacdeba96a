#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "module/management/database.hpp"
#include "t/unit/management/given_replies.hpp"

namespace tollgate::management {

/// A Redis in memory that executes the transactions of operations on keys. Its time stands still.
class MemoryDatabase final : public Database {
  public:
    /// All keys of Redis by their names.
    struct Data {
        std::map<std::string, std::map<std::string, std::string>> hashes{};
        std::map<std::string, std::set<std::string>> sets{};
        std::map<std::string, std::map<std::string, std::string>> scores{};
        std::set<std::string> expiring{};
        std::set<std::string> of_other_types{};  ///< what is no hash where a hash is expected

        bool operator==(const Data&) const = default;
    };

    static redis::Keys keys() { return redis::Keys("t:"); }

    Data data;
    /// Called before the call after the next `calls_before` ones, once. Empty: nothing.
    std::function<void()> before_call;
    int calls_before = 0;
    /// Called before a transaction with conditions, which were read before. Empty: nothing.
    std::function<void()> before_change;
    /// Called for each acknowledgement. Empty: changes are confirmed.
    std::function<Durability()> acknowledged;

    /// Whether each key has a slot of its own.
    bool is_cluster = false;
    /// The names that were announced.
    std::set<std::string> announced{};

    /// Commands that the user may not execute. PUBLISH: names cannot be announced.
    std::set<std::string> forbidden{};

    /// What was published, in this order.
    std::vector<std::string> published{};

    /// What elapsed() returns: how long calls and waits have taken. Empty: nothing, always.
    std::optional<std::chrono::milliseconds> elapsed_time;
    std::chrono::milliseconds time_of_call{};

    /// How many further calls the database answers. Empty: all.
    std::optional<int> calls_left;
    /// Whether it executes the call after the last one that it answers.
    bool loses_reply = false;

    void execute(std::vector<Transaction> transactions, Done done) override {
        if (before_call && calls_before-- == 0) {
            std::exchange(before_call, nullptr)();
        }
        add_elapsed(time_of_call);
        const bool is_answered = !calls_left || --*calls_left >= 0;
        std::vector<Replies> replies;
        replies.reserve(transactions.size());
        bool is_refused = false;
        for (const Transaction& transaction : transactions) {
            if (is_answered || (loses_reply && *calls_left == -1)) {
                replies.push_back(replies_to(transaction, is_refused));
            }
        }
        if (is_refused) {
            done(std::make_exception_ptr(OperationError(Reason::kUnavailable, "NOPERM")));
        } else if (is_answered) {
            done(std::move(replies));
        } else {
            done(std::make_exception_ptr(
                OperationError(Reason::kUnavailable, "the database is lost")));
        }
    }
    void wait(std::chrono::milliseconds time, Done done) override {
        add_elapsed(time);
        done(std::vector<Replies>{});
    }
    std::chrono::milliseconds elapsed() const override {
        return elapsed_time.value_or(std::chrono::milliseconds(0));
    }
    bool may_span(std::string_view /*key*/, std::string_view /*other*/) const override {
        return !is_cluster;
    }
    Task<Durability> acknowledge() override {
        co_return acknowledged ? acknowledged() : Durability::kConfirmed;
    }

  private:
    void add_elapsed(std::chrono::milliseconds time) {
        if (elapsed_time) {
            *elapsed_time += time;
        }
    }

    /// `is_refused` is set if a command is forbidden. If it is the first one, none is executed.
    Replies replies_to(const Transaction& transaction, bool& is_refused) {
        if (!transaction.conditions.empty() && before_change) {
            std::exchange(before_change, nullptr)();
        }
        for (const auto& condition : transaction.conditions) {
            const auto reply = reply_to(condition.command);
            const bool is_number = reply.kind == redis::Value::Kind::kInteger;
            if ((is_number ? std::vector{std::to_string(reply.integer)} : reply.texts()) !=
                condition.elements) {
                return std::nullopt;
            }
        }
        if (!transaction.names.empty() && forbidden.contains("PUBLISH")) {
            is_refused = true;
            return std::nullopt;
        }
        std::vector<redis::Value> values;
        values.reserve(transaction.commands.size());
        for (const auto& command : transaction.commands) {
            if (!forbidden.contains(command.front())) {
                values.push_back(reply_to(command));
                continue;
            }
            is_refused = true;
            if (values.empty()) {
                return std::nullopt;
            }
        }
        announced.insert(transaction.names.begin(), transaction.names.end());
        return values;
    }

    redis::Value reply_to(const redis::Command& command) {
        const auto& name = command.front();
        if (name == "TIME") {
            return array_of({"1000", "0"});
        }
        const auto& key = command[1];
        if (name.front() == 'H') {
            if (data.of_other_types.contains(key)) {
                return value_of(-1);
            }
            return reply_of(reply_of_hash, command, data.hashes);
        }
        if (name.front() == 'S') {
            return reply_of(reply_of_set, command, data.sets);
        }
        if (name.front() == 'Z') {
            return reply_of(reply_of_scores, command, data.scores);
        }
        if (name == "DEL") {
            data.hashes.erase(key);
            data.of_other_types.erase(key);
            data.sets.erase(key);
            data.expiring.erase(key);
        } else if (name == "EXISTS") {
            const bool exists = data.hashes.contains(key) || data.sets.contains(key) ||
                                data.scores.contains(key) || data.of_other_types.contains(key);
            return value_of(exists ? 1 : 0);
        } else if (name == "PTTL") {
            return value_of(data.expiring.contains(key) ? 1000 : -1);
        } else if (name == "PERSIST") {
            data.expiring.erase(key);
        } else if (name == "PEXPIRE" || name == "PEXPIREAT") {
            data.expiring.insert(key);
        } else if (name == "PUBLISH") {
            published.push_back(command[2]);
        } else if (name != "XADD") {
            ADD_FAILURE() << "no such command: " << name;
        }
        return value_of(1);
    }

    /// The reply of `execute`. Redis has no empty hashes, sets and sorted sets.
    template <typename Execute, typename Values>
    static redis::Value reply_of(Execute execute, const redis::Command& command, Values& values) {
        auto reply = execute(command, values[command[1]]);
        if (values[command[1]].empty()) {
            values.erase(command[1]);
        }
        return reply;
    }

    static redis::Value reply_of_hash(const redis::Command& command,
                                      std::map<std::string, std::string>& hash) {
        if (command.front() == "HGETALL") {
            auto all = array_of({});
            for (const auto& [field, value] : hash) {
                const auto pair = array_of({field, value});
                all.elements.insert(all.elements.end(), pair.elements.begin(), pair.elements.end());
            }
            return all;
        }
        if (command.front() == "HMGET") {
            auto values = array_of({});
            for (std::size_t i = 2; i < command.size(); ++i) {
                auto& value = values.elements.emplace_back();
                if (hash.contains(command[i])) {
                    value = array_of({hash[command[i]]}).elements.front();
                }
            }
            return values;
        }
        if (command.front() == "HINCRBY") {
            std::string& value = hash.try_emplace(command[2], "0").first->second;
            const auto sum = std::stoll(value) + std::stoll(command[3]);
            value = std::to_string(sum);
            return value_of(sum);
        }
        for (std::size_t i = 2; i < command.size(); ++i) {
            if (command.front() == "HDEL") {
                hash.erase(command[i]);
            } else {
                hash[command[i]] = command[i + 1];
                ++i;
            }
        }
        return value_of(1);
    }

    static redis::Value reply_of_set(const redis::Command& command, std::set<std::string>& set) {
        if (command.front() == "SMEMBERS") {
            auto all = array_of({});
            for (const auto& member : set) {
                all.elements.push_back(array_of({member}).elements.front());
            }
            return all;
        }
        if (command.front() == "SADD") {
            set.insert(command.begin() + 2, command.end());
        } else if (command.front() == "SREM") {
            std::for_each(command.begin() + 2, command.end(),
                          [&](const std::string& member) { set.erase(member); });
        }
        return value_of(set.contains(command[2]) ? 1 : 0);
    }

    static redis::Value reply_of_scores(const redis::Command& command,
                                        std::map<std::string, std::string>& scores) {
        if (command.front() == "ZADD") {
            const auto before = scores.size();
            const bool is_kept = command[2] == "NX";
            for (std::size_t i = is_kept ? 3 : 2; i < command.size(); i += 2) {
                auto& score = scores.try_emplace(command[i + 1], command[i]).first->second;
                score = is_kept ? score : command[i];
            }
            return value_of(static_cast<std::int64_t>(scores.size() - before));
        }
        if (command.front() == "ZREM") {
            std::for_each(command.begin() + 2, command.end(),
                          [&](const std::string& member) { scores.erase(member); });
        } else if (command.front() == "ZRANGEBYLEX") {
            return range_by_text(command, scores);
        } else if (command.front() == "ZRANGE") {
            return range_by_rank(command, scores);
        } else if (command.front() == "ZRANGEBYSCORE") {
            return range_by_score(command, scores);
        } else if (scores.contains(command.back())) {
            return array_of({scores[command.back()]}).elements.front();
        }
        return {};
    }

    /// ZRANGE KEY FIRST LAST WITHSCORES
    static redis::Value range_by_rank(const redis::Command& command,
                                      const std::map<std::string, std::string>& scores) {
        const auto all = ordered(scores);
        auto range = array_of({});
        for (auto i = std::stoul(command[2]); i <= std::stoul(command[3]) && i < all.size(); ++i) {
            const auto pair = array_of({all[i].second, scores.at(all[i].second)});
            range.elements.insert(range.elements.end(), pair.elements.begin(), pair.elements.end());
        }
        return range;
    }

    /// ZRANGEBYSCORE KEY FIRST LAST [WITHSCORES] LIMIT 0 COUNT
    static redis::Value range_by_score(const redis::Command& command,
                                       const std::map<std::string, std::string>& scores) {
        const bool has_scores = command[4] == "WITHSCORES";
        const std::size_t words = has_scores ? 2 : 1;
        auto range = array_of({});
        for (const auto& [score, member] : ordered(scores)) {
            if (score >= std::stod(command[2]) && score <= std::stod(command[3]) &&
                range.elements.size() < words * std::stoul(command.back())) {
                const auto pair = array_of({member, scores.at(member)});
                std::copy_n(pair.elements.begin(), words, std::back_inserter(range.elements));
            }
        }
        return range;
    }

    static std::vector<std::pair<double, std::string>> ordered(
        const std::map<std::string, std::string>& scores) {
        std::vector<std::pair<double, std::string>> all;
        all.reserve(scores.size());
        for (const auto& [member, score] : scores) {
            all.emplace_back(std::stod(score), member);
        }
        std::ranges::sort(all);
        return all;
    }

    /// ZRANGEBYLEX KEY [FROM|(FROM (TO LIMIT 0 COUNT
    static redis::Value range_by_text(const redis::Command& command,
                                      const std::map<std::string, std::string>& scores) {
        const auto from = command[2].substr(1);
        const auto most = std::stoul(command[6]);
        auto range = array_of({});
        for (auto next = command[2].front() == '(' ? scores.upper_bound(from)
                                                   : scores.lower_bound(from);
             next != scores.lower_bound(command[3].substr(1)) && range.elements.size() < most;
             ++next) {
            range.elements.push_back(array_of({next->first}).elements.front());
        }
        return range;
    }
};

}  // namespace tollgate::management
