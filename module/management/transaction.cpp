#include "module/management/transaction.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

namespace tollgate::management {

namespace {

// Gateways whose subscription was down longer drop all their records.
constexpr std::chrono::milliseconds kChangesKept = std::chrono::hours(1);

constexpr std::string_view kReadHash = "HGETALL";

void add_list(std::vector<std::string>& arguments, const std::vector<std::string>& words) {
    arguments.push_back(std::to_string(words.size()));
    arguments.insert(arguments.end(), words.begin(), words.end());
}

/// The keys of the conditions and the commands, without repetitions.
std::vector<std::string> keys_of(const Transaction& transaction) {
    std::vector<std::string> all;
    const auto add = [&](const redis::Command& command) {
        if (command.size() > 1 && std::ranges::find(all, command[1]) == all.end()) {
            all.push_back(command[1]);
        }
        // The only command with several keys, which nobody asks for the same one twice.
        if (command.front() == "EXISTS" && command.size() > 2) {
            all.insert(all.end(), command.begin() + 2, command.end());
        }
    };
    for (const auto& condition : transaction.conditions) {
        add(condition.command);
    }
    std::ranges::for_each(transaction.commands, add);
    return all;
}

constexpr std::string_view kOfAnyType = "ANY";

bool is_of_any_type(const redis::Command& command) {
    return command.size() > 2 && command.front() == kReadHash && command.back() == kOfAnyType;
}

bool is_of_small_hash(const redis::Command& command) {
    return command.size() > 2 && command.front() == kReadHash && !is_of_any_type(command);
}

}  // namespace

bool Transaction::is_plain() const {
    return conditions.empty() && names.empty() && commands.size() == 1 &&
           !is_of_small_hash(commands.front());
}

redis::Command reading_of_small_hash(std::string key, std::size_t most) {
    return {std::string(kReadHash), std::move(key), std::to_string(most)};
}

redis::Command reading_of_any(std::string key) {
    return {std::string(kReadHash), std::move(key), std::string(kOfAnyType)};
}

redis::Command plain_command(const redis::Command& command) {
    return is_of_any_type(command) ? redis::Command{command[0], command[1]} : command;
}

redis::Value plain_reply(const redis::Command& command, redis::Value reply) {
    if (is_of_any_type(command) && reply.is_error() && reply.text.starts_with("WRONGTYPE")) {
        reply = redis::Value{
            .kind = redis::Value::Kind::kInteger, .integer = -1, .text = {}, .elements = {}};
    }
    return reply;
}

std::string key_of(const Transaction& transaction, const redis::Keys& keys) {
    const auto all = keys_of(transaction);
    if (!all.empty()) {
        return all.front();
    }
    return transaction.names.empty() ? keys.ids() : keys.changes();
}

ScriptCall call_of(const Transaction& transaction, const redis::Keys& keys) {
    ScriptCall call{.keys = keys_of(transaction), .arguments = {}};
    auto& arguments = call.arguments;
    arguments.push_back(std::to_string(transaction.conditions.size()));
    for (const auto& condition : transaction.conditions) {
        add_list(arguments, condition.command);
        add_list(arguments, condition.elements);
    }
    arguments.push_back(std::to_string(transaction.names.size()));
    if (!transaction.names.empty()) {
        call.keys.push_back(keys.changes());
        arguments.insert(arguments.end(),
                         {keys.changes(), keys.events(), std::to_string(kChangesKept.count())});
        arguments.insert(arguments.end(), transaction.names.begin(), transaction.names.end());
    }
    arguments.push_back(std::to_string(transaction.commands.size()));
    for (const auto& command : transaction.commands) {
        add_list(arguments, command);
    }
    return call;
}

Replies replies_of(std::vector<redis::Value> values, const Transaction& transaction) {
    const auto error = std::ranges::find_if(values, &redis::Value::is_error);
    if (error != values.end()) {
        // The script returns an error of the first command alone.
        throw OperationError(Reason::kUnavailable,
                             "Redis has executed a part of the commands only: " + error->text);
    }
    if (values.size() == 1 && values.front().integer == 0 && !transaction.conditions.empty()) {
        return std::nullopt;
    }
    if (values.size() != 1 + transaction.commands.size()) {
        throw unexpected_reply();
    }
    values.erase(values.begin());
    return values;
}

OperationError unexpected_reply() {
    return {Reason::kUnavailable, "Redis sends an unexpected reply"};
}

}  // namespace tollgate::management
