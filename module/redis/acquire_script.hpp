#pragma once

#include <string>
#include <string_view>

namespace tollgate::redis {

/// The script that decides a request over every window of every table at once; its text says what
/// it takes and gives.
extern const std::string_view kAcquireScript;

/// The script's SHA-1 in hexadecimal, as EVALSHA names it. Throws std::runtime_error when OpenSSL
/// fails.
std::string acquire_script_sha1();

}  // namespace tollgate::redis
