#include "module/management/database.hpp"

#include <utility>

#include "module/redis/protocol/redis_time.hpp"

namespace tollgate::management {

Task<Replies> execute(Database& database, Transaction transaction) {
    std::vector<Transaction> transactions;
    transactions.push_back(std::move(transaction));
    auto replies = co_await execute(database, std::move(transactions));
    co_return std::move(replies.front());
}

Task<redis::Value> run(Database& database, redis::Command command) {
    Transaction transaction;
    transaction.commands.push_back(std::move(command));
    auto replies = co_await execute(database, std::move(transaction));
    co_return std::move(replies.value().front());
}

Task<std::vector<redis::Value>> run_all(Database& database, std::vector<redis::Command> commands) {
    std::vector<Transaction> transactions;
    transactions.reserve(commands.size());
    for (auto& command : commands) {
        transactions.emplace_back().commands.push_back(std::move(command));
    }
    auto all = co_await execute(database, std::move(transactions));
    std::vector<redis::Value> values;
    values.reserve(all.size());
    for (auto& replies : all) {
        values.push_back(std::move(replies.value().front()));
    }
    co_return values;
}

Instant time_of_reply(const redis::Value& time) {
    const auto exact = time.elements.size() == 2
                           ? redis::read_time(time.elements[0].text, time.elements[1].text)
                           : std::nullopt;
    if (!exact) {
        throw unexpected_reply();
    }
    return std::chrono::floor<std::chrono::milliseconds>(*exact);
}

}  // namespace tollgate::management
