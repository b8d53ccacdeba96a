#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "module/management/admin/request_record.hpp"
#include "module/management/database.hpp"

namespace tollgate::management {

/// What became of an operation, as it is recorded: keys are not.
struct RecordedResult {
    int status = 0;
    std::string id{};  ///< that it concerns; empty: not known
};

/// What Redis knows of a batch with an `Idempotency-Key`: that it is being executed, or, for 24
/// hours, what became of its first operations, or of all. All tasks throw OperationError.
class BatchRecord {
  public:
    /// The record of a batch with this number of `operations`. `database` and `keys` must outlive
    /// the object, which must outlive its tasks.
    BatchRecord(Database& database, const redis::Keys& keys, const IdempotentRequest& request,
                std::size_t operations);

    /// Returns what became of the operations that earlier executions have executed: the first ones,
    /// or all. Unless it is all, records that the others are executed now. Throws
    /// Reason::kRequestReused if a batch with the same `Idempotency-Key` had another body, and
    /// Reason::kConcurrentChange while it is being executed. An execution counts as interrupted
    /// after kLongestExecution: then no operation counts as executed.
    Task<std::vector<RecordedResult>> begin();
    static constexpr std::chrono::seconds kLongestExecution{90};

    /// Records what became of the operations that are not to be executed again: the first ones, or
    /// all. If Redis cannot be reached, the execution counts as interrupted.
    Task<void> end(std::vector<RecordedResult> results);

  private:
    Database& database_;
    ExecutionNames names_;
    std::size_t operations_;
};

}  // namespace tollgate::management
