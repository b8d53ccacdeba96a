#include "module/management/database.hpp"

#include <utility>

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

}  // namespace tollgate::management
