#pragma once

#include <optional>
#include <string>

#include "module/management/admin/request_record.hpp"
#include "module/management/database.hpp"

namespace tollgate::management {

/// What Redis knows of a batch with an `Idempotency-Key`: that it is being executed, or, for 24
/// hours, what became of its operations. All tasks throw OperationError.
class BatchRecord {
  public:
    /// `database` and `keys` must outlive the object, which must outlive its tasks.
    BatchRecord(Database& database, const redis::Keys& keys, const IdempotentRequest& request);

    /// Records that the batch is executed now, and returns nothing; or returns the results of an
    /// earlier execution. Throws Reason::kRequestReused if a batch with the same `Idempotency-Key`
    /// had another body, and Reason::kConcurrentChange while it is being executed. An execution
    /// counts as interrupted after kLongestExecution.
    Task<std::optional<std::string>> begin();
    static constexpr std::chrono::seconds kLongestExecution{90};

    /// Records the results: a text without a meaning here. Without them, the batch may be executed
    /// again. If Redis cannot be reached, it may be so after kLongestExecution.
    Task<void> end(std::optional<std::string> results);

  private:
    Database& database_;
    ExecutionNames names_;
};

}  // namespace tollgate::management
