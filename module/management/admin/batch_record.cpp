#include "module/management/admin/batch_record.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace tollgate::management {

namespace {

namespace part = redis::request_field;

std::string in_milliseconds(std::chrono::milliseconds time) {
    return std::to_string(time.count());
}

std::string text_of(const std::vector<RecordedResult>& results) {
    std::string text;
    for (const auto& result : results) {
        text.append(text.empty() ? "" : " ").append(std::to_string(result.status));
        text.append(":").append(result.id);
    }
    return text;
}

std::vector<RecordedResult> results_in(std::string_view text) {
    std::vector<RecordedResult> results;
    while (!text.empty()) {
        const auto one = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(one.size() + 1, text.size()));
        const auto colon = std::min(one.find(':'), one.size());
        results.push_back({.status = static_cast<int>(redis::number_or_zero(one.substr(0, colon))),
                           .id = std::string(one.substr(std::min(colon + 1, one.size())))});
    }
    return results;
}

}  // namespace

BatchRecord::BatchRecord(Database& database, const redis::Keys& keys,
                         const IdempotentRequest& request, std::size_t operations)
    : database_(database), names_(keys, request), operations_(operations) {}

Task<std::vector<RecordedResult>> BatchRecord::begin() {
    std::vector<RecordedResult> results;
    constexpr int kMostAttempts = 3;
    for (int attempts = 0; !names_.key.empty() && attempts < kMostAttempts; ++attempts) {
        redis::Command read{"HGETALL", names_.key};
        const auto stored = co_await run(database_, std::move(read));
        const auto fields = stored.fields();
        if (!fields.empty() && fields[part::kBody] != names_.body) {
            throw request_reused();
        }
        if (!fields[part::kRun].empty()) {
            break;
        }
        results = results_in(fields[part::kResults]);
        if (results.size() >= operations_) {
            co_return results;
        }
        Transaction claim;
        claim.conditions.push_back(
            {.command = {"HGETALL", names_.key}, .elements = stored.texts()});
        claim.commands = {{"HSET", names_.key, std::string(part::kBody), names_.body,
                           std::string(part::kRun), names_.run},
                          {"PEXPIRE", names_.key, in_milliseconds(kLongestExecution)}};
        const auto replies = co_await execute(database_, std::move(claim));
        if (replies) {
            co_return results;
        }
    }
    if (!names_.key.empty()) {
        throw OperationError(Reason::kConcurrentChange,
                             "the same batch is being executed: repeat it");
    }
    co_return results;
}

Task<void> BatchRecord::end(std::vector<RecordedResult> results) {
    if (names_.key.empty()) {
        co_return;
    }
    Transaction end;
    end.conditions.push_back(
        {.command = {"HMGET", names_.key, std::string(part::kRun)}, .elements = {names_.run}});
    if (!results.empty()) {
        end.commands = {{"HSET", names_.key, std::string(part::kRun), "",
                         std::string(part::kResults), text_of(results)},
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
