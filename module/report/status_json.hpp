#pragma once

#include <string>

#include "module/report/status.hpp"

namespace tollgate {

/// The status as a JSON object; module/README.md describes it.
std::string status_json(const Status& status);

}  // namespace tollgate
