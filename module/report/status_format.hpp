#pragma once

#include <string_view>

namespace tollgate {

/// How the status is written.
enum class StatusFormat { kJson, kPrometheus };

/// Which of them an `Accept` field (RFC 9110 section 12.5.1) asks for: Prometheus's where it names
/// `text/plain` or OpenMetrics and prefers it to `application/json`. Ranges such as `*/*` take what
/// is there: JSON.
StatusFormat preferred_status_format(std::string_view accept);

}  // namespace tollgate
