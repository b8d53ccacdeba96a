#pragma once

#include <string>
#include <string_view>

namespace tollgate::management {

// The functions `random_…` throw std::system_error if the system provides no random numbers.

/// Generates a key with this prefix; with kKeyPrefix if it is empty.
std::string random_api_key(std::string_view prefix);

/// Generates an id: `key_` and 12 base62 characters.
std::string random_key_id();

/// The id that belongs to a text: `key_` and 12 base62 characters of its SHA-256.
std::string derived_key_id(std::string_view text);

/// Generates a name for one run of an operation: 12 base62 characters.
std::string random_operation_name();

}  // namespace tollgate::management
