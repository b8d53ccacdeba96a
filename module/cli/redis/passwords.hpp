#pragma once

#include "module/cli/redis/redis_url.hpp"

namespace tollgate::cli {

/// Sets the passwords of the URL: from its password files; from a prompt for a user without a
/// password, and with `ask` for the servers with data. The prompt is on the terminal, without
/// echo. Throws Failure with ExitStatus::kUsage if a file can't be read, if standard input is not a
/// terminal, or if the URL already has the password that `ask` is for.
void read_passwords(RedisUrl& url, bool ask);

}  // namespace tollgate::cli
