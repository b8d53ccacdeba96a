#include "module/management/admin/batch_record.hpp"

#include <utility>

#include "module/management/random_key.hpp"

namespace tollgate::management {

namespace {

namespace part = redis::request_field;

std::string in_milliseconds(std::chrono::milliseconds time) {
    return std::to_string(time.count());
}

}  // namespace

BatchRecord::BatchRecord(Database& database, const redis::Keys& keys,
                         const IdempotentRequest& request)
    : database_(database) {
    if (!request.name().empty()) {
        key_ = keys.request(request.name_without_body());
        body_ = request.name().substr(request.name_without_body().size());
        run_ = random_operation_name();
    }
}

Task<std::optional<std::string>> BatchRecord::begin() {
    constexpr int kMostAttempts = 3;
    for (int attempts = 0; !key_.empty() && attempts < kMostAttempts; ++attempts) {
        redis::Command read{"HGETALL", key_};
        const auto stored = co_await run(database_, std::move(read));
        auto fields = stored.fields();
        if (fields.empty()) {
            Transaction claim;
            claim.conditions.push_back({.command = {"HGETALL", key_}, .elements = {}});
            claim.commands = {
                {"HSET", key_, std::string(part::kBody), body_, std::string(part::kRun), run_},
                {"PEXPIRE", key_, in_milliseconds(kLongestExecution)}};
            const auto replies = co_await execute(database_, std::move(claim));
            if (replies) {
                co_return std::nullopt;
            }
            continue;
        }
        if (fields[part::kBody] != body_) {
            throw request_reused();
        }
        if (!fields[part::kRun].empty()) {
            break;
        }
        co_return std::string(fields[part::kResults]);
    }
    if (!key_.empty()) {
        throw OperationError(Reason::kConcurrentChange,
                             "the same batch is being executed: repeat it");
    }
    co_return std::nullopt;
}

Task<void> BatchRecord::end(std::optional<std::string> results) {
    if (key_.empty()) {
        co_return;
    }
    Transaction end;
    end.conditions.push_back(
        {.command = {"HMGET", key_, std::string(part::kRun)}, .elements = {run_}});
    if (results) {
        end.commands = {{"HSET", key_, std::string(part::kRun), "", std::string(part::kResults),
                         std::move(*results)},
                        {"PEXPIRE", key_, in_milliseconds(IdempotentRequest::kLifetime)}};
    } else {
        end.commands = {{"DEL", key_}};
    }
    try {
        co_await execute(database_, std::move(end));
    } catch (const OperationError&) {
        // The response tells what the batch did.
    }
}

}  // namespace tollgate::management
