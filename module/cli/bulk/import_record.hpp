#pragma once

#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>

#include "module/management/stored_key.hpp"

namespace tollgate::cli {

/// A record is not valid. what() says why, and does not contain a key.
class InvalidRecord : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Reads an id and its keys from a line of JSON: what `tollgate export keys` writes, or an object
/// with `id`, `plan` and `token` or `digest`; other members are as in an export. A key without
/// `created` is created now. Keys whose overlap has ended are left out. Throws InvalidRecord.
management::KeysOfId read_import_record(std::string_view line, std::chrono::sys_seconds now);

}  // namespace tollgate::cli
