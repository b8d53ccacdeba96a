#pragma once

#include <cstdint>
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

    /// What begin() has found.
    enum class Begin : std::uint8_t {
        kFirst,        ///< nothing: this execution is recorded
        kInterrupted,  ///< an execution that does not end: this one is recorded in its place
        kAwaited,      ///< an execution, which has ended meanwhile
        kExecuted      ///< the end of an execution
    };

    /// Records that the request is executed now, unless it was executed before. While the same
    /// request is executed elsewhere, waits for its end. After two seconds it counts as
    /// interrupted, and this execution takes its place. Throws Reason::kRequestReused if a request
    /// with the same `Idempotency-Key` had another body, and Reason::kConcurrentChange if others
    /// keep executing the request.
    Task<Begin> begin();

    /// After Begin::kExecuted, when the execution ended, by Redis's clock: its response was sent
    /// later.
    Instant end_of_execution() const { return end_; }

    /// After Begin::kExecuted, records that the request is executed again. Returns false if it is
    /// being executed elsewhere.
    Task<bool> begin_again();

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
    bool was_executed_ = false;
    Instant end_{};
};

}  // namespace tollgate::management
