#pragma once

#include <string>

namespace tollgate::management {

// All functions throw std::system_error if the system provides no random numbers.

/// Generates a key.
std::string random_api_key();

/// Generates an id: `key_` and 12 base62 characters.
std::string random_key_id();

/// Generates a name for one run of an operation: 12 base62 characters.
std::string random_operation_name();

}  // namespace tollgate::management
