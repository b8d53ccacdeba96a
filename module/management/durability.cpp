#include "module/management/durability.hpp"

#include <chrono>
#include <optional>

#include "module/management/database.hpp"

namespace tollgate::management {

namespace {

using namespace std::chrono_literals;

// A failover ends in a few seconds.
constexpr int kMostExecutions = 10;
constexpr auto kPauseBetweenExecutions = 500ms;

}  // namespace

Task<Durability> execute_durably(Database& database,
                                 std::function<Task<void>(bool again)> operation) {
    for (int executions = 0; executions < kMostExecutions; ++executions) {
        if (executions > 1) {
            co_await wait(database, kPauseBetweenExecutions);
        }
        std::optional<OperationError> refusal;
        try {
            co_await operation(executions > 0);
        } catch (const OperationError& error) {
            refusal = error;
        }
        const bool is_unavailable = refusal && refusal->reason() == Reason::kUnavailable;
        if (is_unavailable) {
            throw OperationError(*refusal);
        }
        const auto durability = co_await database.acknowledge();
        if (durability != Durability::kUndone) {
            if (refusal) {
                throw OperationError(*refusal);
            }
            co_return durability;
        }
    }
    throw OperationError(Reason::kUnavailable,
                         "the master of Redis changes again and again: it is unknown whether the "
                         "operation is kept");
}

}  // namespace tollgate::management
