#include "module/cli/redis/session_database.hpp"

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>

namespace tollgate::cli {

void SessionDatabase::execute(std::vector<management::Transaction> transactions, Done done) {
    Outcome outcome;
    try {
        outcome = execute_all(transactions);
    } catch (const std::exception&) {
        outcome = std::current_exception();
    }
    done(std::move(outcome));
}

void SessionDatabase::wait(std::chrono::milliseconds time, Done done) {
    std::this_thread::sleep_for(time);
    done(std::vector<management::Replies>());
}

management::Task<management::Durability> SessionDatabase::acknowledge() {
    co_return session_.acknowledge();
}

/// Single commands are sent as they are: a script costs Redis more.
std::vector<management::Replies> SessionDatabase::execute_all(
    const std::vector<management::Transaction>& transactions) {
    std::vector<management::Replies> replies;
    replies.reserve(transactions.size());
    if (std::ranges::all_of(transactions, &management::Transaction::is_plain)) {
        std::vector<redis::Command> commands;
        commands.reserve(transactions.size());
        for (const auto& transaction : transactions) {
            commands.push_back(transaction.commands.front());
        }
        for (auto& value : session_.run_all(commands)) {
            replies.emplace_back().emplace().push_back(std::move(value));
        }
        return replies;
    }
    std::vector<management::ScriptCall> calls;
    calls.reserve(transactions.size());
    for (const auto& transaction : transactions) {
        calls.push_back(call_of(transaction, keys_));
    }
    auto values = session_.call(calls);
    for (std::size_t i = 0; i < transactions.size(); ++i) {
        replies.push_back(replies_of(std::move(values[i]), transactions[i]));
    }
    return replies;
}

}  // namespace tollgate::cli
