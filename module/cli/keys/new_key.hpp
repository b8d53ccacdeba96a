#pragma once

#include <istream>
#include <string>

namespace tollgate::cli {

/// Generates a key. Throws std::system_error if the system provides no random numbers, as the next
/// two functions do.
std::string random_api_key();

/// Generates an id: `key_` and 12 base62 characters.
std::string random_key_id();

/// Generates a name for one run of a command: 12 base62 characters.
std::string random_command_name();

/// Reads the key to import: the whole input without one line end. Throws Failure if it is not a
/// valid bearer token of at most 512 bytes, or if it begins with `tg_` and has a wrong checksum.
/// The messages don't contain the key.
std::string read_api_key(std::istream& input);

/// Reads the key to import from standard input. If that is a terminal, prompts for one line and
/// reads it without echo. Throws as above.
std::string read_api_key();

}  // namespace tollgate::cli
