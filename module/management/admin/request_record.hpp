#pragma once

#include <string>

#include "module/management/admin/idempotent_request.hpp"
#include "module/management/database.hpp"

namespace tollgate::management {

/// What Redis knows of a request with an `Idempotency-Key` for 24 hours: whether it is being
/// executed or was executed, and its body. A request without one is not recorded. All tasks throw
/// OperationError.
class RequestRecord {
  public:
    /// `database` and `keys` must outlive the object, which must outlive its tasks.
    RequestRecord(Database& database, const redis::Keys& keys, const IdempotentRequest& request);

    /// Records that the request is executed now. Returns false if it was executed before. While the
    /// same request is executed elsewhere, waits for its end. After two seconds it counts as
    /// interrupted, and this execution takes its place. Throws Reason::kRequestReused if a request
    /// with the same `Idempotency-Key` had another body, and Reason::kConcurrentChange if others
    /// keep executing the request.
    Task<bool> begin();

    /// Records that the request was executed; or forgets it if it has failed, so that it may be
    /// repeated. If Redis cannot be reached, the next one waits: see begin().
    Task<void> end(bool has_succeeded);

  private:
    Task<bool> claim(std::string previous);

    Database& database_;
    std::string key_;   ///< of the record in Redis; empty: not recorded
    std::string body_;  ///< the part of the request's name that its body determines
    std::string run_;   ///< the name of this execution
};

}  // namespace tollgate::management
