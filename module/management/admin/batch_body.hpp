#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "module/management/admin/admin_request.hpp"
#include "module/management/database.hpp"

namespace tollgate::management {

/// The most operations of a batch.
inline constexpr std::size_t kMostOperations = 1000;

/// The requests of `POST keys:batch`, by its body: `method`, `path`, and optionally `body` and
/// `if_match`. The caller is that of `batch`. A body is not parsed here: its own request does it.
/// Each changes a key. A long body is read in several turns; `database` and `batch` must outlive
/// the task. Throws OperationError with Reason::kInvalid, for the first mistake in the body.
Task<std::vector<AdminRequest>> read_batch(Database& database, const AdminRequest& batch);

}  // namespace tollgate::management
