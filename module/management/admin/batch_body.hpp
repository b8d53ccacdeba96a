#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "module/management/admin/admin_request.hpp"

namespace tollgate::management {

/// The most operations of a batch.
inline constexpr std::size_t kMostOperations = 1000;

/// The requests of `POST keys:batch`, by its body: `method`, `path`, and optionally `body` and
/// `if_match`. The caller is that of `batch`. A body is not parsed here: its own request does it.
/// Throws OperationError with Reason::kInvalid.
std::vector<AdminRequest> read_batch(const AdminRequest& batch);

}  // namespace tollgate::management
