#pragma once

#include <istream>
#include <string>

namespace tollgate::cli {

/// A new key, from the system's random numbers. Throws std::system_error where there are none.
std::string random_api_key();

/// A new id: `key_` and 12 base62 characters.
std::string random_key_id();

/// A name for one run of a command: 12 base62 characters.
std::string random_command_name();

/// Reads a key that is to be imported: all of the input but one line end. Throws Failure for what
/// no client could send, and for a mistyped key of our own, which the gateway would refuse. The
/// messages don't show it.
std::string read_api_key(std::istream& input);

/// The same from standard input; from a terminal one line, which it asks for and does not echo.
std::string read_api_key();

}  // namespace tollgate::cli
