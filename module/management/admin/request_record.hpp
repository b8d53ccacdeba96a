#pragma once

#include <string>

#include "module/management/admin/idempotent_request.hpp"
#include "module/management/database.hpp"

namespace tollgate::management {

/// How Redis names an execution of a request. Empty names if the request has no `Idempotency-Key`:
/// it is not recorded.
struct ExecutionNames {
    ExecutionNames(const redis::Keys& keys, const IdempotentRequest& request);

    std::string key{};   ///< of the record
    std::string body{};  ///< the part of the request's name that its body determines
    std::string run{};   ///< of this execution
};

/// What Redis knows of a request with an `Idempotency-Key` for 24 hours: whether it is being
/// executed or was executed, and its body. A request without one is not recorded. All tasks throw
/// OperationError.
class RequestRecord {
  public:
    /// `database` and `keys` must outlive the object, which must outlive its tasks.
    RequestRecord(Database& database, const redis::Keys& keys, const IdempotentRequest& request);

    /// Returns whether the request was executed before. Otherwise records that it is executed now.
    /// While the same request is executed elsewhere, waits for its end. After two seconds it counts
    /// as interrupted, and this execution takes its place. Throws Reason::kRequestReused if a
    /// request with the same `Idempotency-Key` had another body, and Reason::kConcurrentChange if
    /// others keep executing the request.
    Task<bool> begin();

    /// Records that the request was executed; or forgets it if it has failed, so that it may be
    /// repeated. A request that was executed before remains so. If Redis cannot be reached, the
    /// next one waits: see begin().
    Task<void> end(bool has_succeeded);

  private:
    Task<bool> claim_first();
    Task<bool> claim_after(std::string previous);
    Task<bool> claim(Condition condition);

    Database& database_;
    ExecutionNames names_;
};

}  // namespace tollgate::management
