#include "module/management/admin/batch_record.hpp"

#include <utility>

namespace tollgate::management {

namespace {

namespace part = redis::request_field;

std::string in_milliseconds(std::chrono::milliseconds time) {
    return std::to_string(time.count());
}

}  // namespace

BatchRecord::BatchRecord(Database& database, const redis::Keys& keys,
                         const IdempotentRequest& request)
    : database_(database), names_(keys, request) {}

Task<std::optional<std::string>> BatchRecord::begin() {
    constexpr int kMostAttempts = 3;
    for (int attempts = 0; !names_.key.empty() && attempts < kMostAttempts; ++attempts) {
        redis::Command read{"HGETALL", names_.key};
        const auto stored = co_await run(database_, std::move(read));
        auto fields = stored.fields();
        if (fields.empty()) {
            Transaction claim;
            claim.conditions.push_back({.command = {"HGETALL", names_.key}, .elements = {}});
            claim.commands = {{"HSET", names_.key, std::string(part::kBody), names_.body,
                               std::string(part::kRun), names_.run},
                              {"PEXPIRE", names_.key, in_milliseconds(kLongestExecution)}};
            const auto replies = co_await execute(database_, std::move(claim));
            if (replies) {
                co_return std::nullopt;
            }
            continue;
        }
        if (fields[part::kBody] != names_.body) {
            throw request_reused();
        }
        if (!fields[part::kRun].empty()) {
            break;
        }
        co_return std::string(fields[part::kResults]);
    }
    if (!names_.key.empty()) {
        throw OperationError(Reason::kConcurrentChange,
                             "the same batch is being executed: repeat it");
    }
    co_return std::nullopt;
}

Task<void> BatchRecord::end(std::optional<std::string> results) {
    if (names_.key.empty()) {
        co_return;
    }
    Transaction end;
    end.conditions.push_back(
        {.command = {"HMGET", names_.key, std::string(part::kRun)}, .elements = {names_.run}});
    if (results) {
        end.commands = {{"HSET", names_.key, std::string(part::kRun), "",
                         std::string(part::kResults), std::move(*results)},
                        {"PEXPIRE", names_.key, in_milliseconds(IdempotentRequest::kLifetime)}};
    } else {
        end.commands = {{"DEL", names_.key}};
    }
    try {
        co_await execute(database_, std::move(end));
    } catch (const OperationError&) {
        // The response tells what the batch did.
    }
}

}  // namespace tollgate::management
