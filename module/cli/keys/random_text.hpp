#pragma once

#include <string>

namespace tollgate::cli {

/// A new key, from the system's random numbers. Throws std::system_error where there are none.
std::string random_api_key();

/// A new id: `key_` and 12 base62 characters.
std::string random_key_id();

/// A name for one run of a command: 12 base62 characters.
std::string random_command_name();

}  // namespace tollgate::cli
