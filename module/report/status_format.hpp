#pragma once

#include <string_view>

namespace tollgate {

/// The format of the status.
enum class StatusFormat { kJson, kPrometheus };

/// The format that an `Accept` field (RFC 9110 section 12.5.1) selects: Prometheus's if it names
/// `text/plain` or OpenMetrics and prefers it to `application/json`, else JSON. Ranges such as
/// `*/*` select JSON.
StatusFormat preferred_status_format(std::string_view accept);

}  // namespace tollgate
