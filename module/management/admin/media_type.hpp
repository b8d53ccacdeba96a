#pragma once

#include "module/management/admin/admin_request.hpp"

namespace tollgate::management {

/// Throws OperationError with Reason::kUnsupportedMedia if the request has a body that is not JSON
/// in clear, by its fields `Content-Type` and `Content-Encoding` (RFC 9110 sections 8.3 and 8.4). A
/// body without `Content-Type` is taken for JSON.
void require_json_body(const AdminRequest& request);

}  // namespace tollgate::management
