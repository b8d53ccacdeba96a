#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "module/management/admin/admin_request.hpp"
#include "module/management/database.hpp"
#include "module/management/usage_reset.hpp"

namespace tollgate::management {

/// Recalls the leases of the counts that a batch resets: those of several resets at once, because
/// each recall waits.
class BatchRecalls {
  public:
    /// `database` and `keys` must outlive the object, which must outlive its tasks.
    BatchRecalls(Database& database, const redis::Keys& keys,
                 const std::vector<AdminRequest>& requests);

    /// To be called before the request at this index is handled. If it resets counts whose leases
    /// were not recalled within the last second, recalls them and those of the next resets. Returns
    /// whether they are recalled: not if Redis is unreachable.
    Task<bool> recall_before(std::size_t index);

  private:
    Database& database_;
    const redis::Keys& keys_;
    std::vector<std::optional<UsageOwner>> resets_;  ///< by the requests, in their order
    std::size_t end_ = 0;               ///< the leases of the resets before it were recalled
    std::chrono::milliseconds time_{};  ///< then: see Database::elapsed()
};

}  // namespace tollgate::management
