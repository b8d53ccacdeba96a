#pragma once

#include <istream>
#include <string>

namespace tollgate::cli {

/// Reads the key to import: the whole input without one line end. Throws Failure if it is not a
/// valid bearer token of at most 512 bytes, or if it begins with `tg_` and has a wrong checksum.
/// The messages don't contain the key.
std::string read_api_key(std::istream& input);

/// Reads the key to import from standard input. If that is a terminal, prompts for one line and
/// reads it without echo. Throws as above.
std::string read_api_key();

}  // namespace tollgate::cli
