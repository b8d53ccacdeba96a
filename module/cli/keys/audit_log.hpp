#pragma once

#include <string>

namespace tollgate::cli {

/// Who runs the command, for the audit: `USER@HOST`. With sudo, the user who runs sudo.
std::string user_at_host();

}  // namespace tollgate::cli
