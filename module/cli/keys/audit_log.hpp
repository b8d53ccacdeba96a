#pragma once

#include <string>

#include "module/cli/redis/redis_session.hpp"
#include "module/management/operations.hpp"

namespace tollgate::cli {

/// The name of this host. Empty if it has none.
std::string host_name();

/// Who runs the command, for the audit: `USER@HOST`. With sudo, the user who runs sudo.
std::string user_at_host();

/// The caller of the operations of the command. The session must outlive it.
management::Caller caller_of(RedisSession& session);

}  // namespace tollgate::cli
