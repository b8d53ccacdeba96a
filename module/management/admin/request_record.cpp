#include "module/management/admin/request_record.hpp"

#include <chrono>
#include <utility>

#include "module/management/key_transactions.hpp"
#include "module/management/random_key.hpp"

namespace tollgate::management {

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kLifetime = IdempotentRequest::kLifetime;
constexpr std::chrono::milliseconds kWait = 50ms;
/// An execution that is not over after so many waits was interrupted.
constexpr int kMostRecordWaits = 40;
/// How many interrupted executions of other workers one request waits for.
constexpr int kMostOtherExecutions = 3;

}  // namespace

ExecutionNames::ExecutionNames(const redis::Keys& keys, const IdempotentRequest& request) {
    if (!request.name().empty()) {
        key = keys.request(request.name_without_body());
        body = request.name().substr(request.name_without_body().size());
        run = random_operation_name();
    }
}

RequestRecord::RequestRecord(Database& database, const redis::Keys& keys,
                             const IdempotentRequest& request)
    : database_(database), names_(keys, request) {}

Task<bool> RequestRecord::begin() {
    if (names_.key.empty()) {
        co_return false;
    }
    std::string other;
    int claims = 0;
    for (int executions = 0, waits = 0;
         executions <= kMostOtherExecutions && claims <= kMostOtherExecutions;) {
        redis::Command read{"HGETALL", names_.key};
        const auto stored = co_await run(database_, std::move(read));
        const auto fields = stored.fields();
        if (fields.empty()) {
            ++claims;
            const bool is_claimed = co_await claim_first();
            if (is_claimed) {
                co_return false;
            }
            continue;
        }
        if (fields[redis::request_field::kBody] != names_.body) {
            throw request_reused();
        }
        if (fields[redis::request_field::kRun].empty()) {
            co_return true;
        }
        if (fields[redis::request_field::kRun] != other) {
            other = fields[redis::request_field::kRun];
            waits = 0;
            ++executions;
        }
        if (waits++ < kMostRecordWaits) {
            co_await wait(database_, kWait);
            continue;
        }
        const bool is_claimed = co_await claim_after(other);
        if (is_claimed) {
            co_return false;
        }
    }
    throw OperationError(Reason::kConcurrentChange,
                         "the same request is being executed: repeat it");
}

/// Records this execution as the first one. Returns false if there is a record.
Task<bool> RequestRecord::claim_first() {
    return claim({.command = {"HGETALL", names_.key}, .elements = {}});
}

/// Records this execution in the place of the previous one. Returns false if the record has
/// changed.
Task<bool> RequestRecord::claim_after(std::string previous) {
    return claim({.command = {"HMGET", names_.key, std::string(redis::request_field::kRun)},
                  .elements = {std::move(previous)}});
}

Task<bool> RequestRecord::claim(Condition condition) {
    Transaction claim;
    claim.conditions.push_back(std::move(condition));
    claim.commands = {{"HSET", names_.key, std::string(redis::request_field::kBody), names_.body,
                       std::string(redis::request_field::kRun), names_.run},
                      {"PEXPIRE", names_.key, std::to_string(kLifetime.count())}};
    const auto replies = co_await execute(database_, std::move(claim));
    co_return replies.has_value();
}

Task<void> RequestRecord::end(bool has_succeeded) {
    if (names_.key.empty()) {
        co_return;
    }
    Transaction end;
    end.conditions.push_back(
        {.command = {"HMGET", names_.key, std::string(redis::request_field::kRun)},
         .elements = {names_.run}});
    try {
        if (has_succeeded) {
            end.commands = {{"HSET", names_.key, std::string(redis::request_field::kRun), ""},
                            {"PEXPIRE", names_.key, std::to_string(kLifetime.count())}};
        } else {
            end.commands = {{"DEL", names_.key}};
        }
        co_await execute(database_, std::move(end));
    } catch (const OperationError&) {
        // The response tells what the request did. A repeated request finds that in the keys.
    }
}

}  // namespace tollgate::management
