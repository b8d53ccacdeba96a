#pragma once

#include <string>

#include "module/report/status.hpp"

namespace tollgate {

/// The status in Prometheus's text format 0.0.4; module/README.md lists the metrics.
std::string status_prometheus(const Status& status);

}  // namespace tollgate
