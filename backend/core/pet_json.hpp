#pragma once

#include <string>
#include <string_view>

#include "backend/core/pet.hpp"
#include "backend/core/refusal.hpp"

namespace petstore {

/// Appends a Pet as JSON. UTF-8 that isn't valid, which only another writer of the database can
/// have left there, becomes U+FFFD.
void append_json(std::string& out, const Pet& pet);

/// Appends an Error: its code, message and status.
void append_error_json(std::string& out, ErrorKind kind, std::string_view message);

}  // namespace petstore
