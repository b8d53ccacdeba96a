#pragma once

#include <chrono>
#include <string>

#include "module/cli/commands/command_line.hpp"
#include "module/management/key_changes.hpp"

namespace tollgate::cli {

/// Reads the options that describe a key, and validates them. Of `--meta`, `NAME=VALUE` sets a
/// member, `NAME=` removes it, `none` removes all. VALUE is `true`, `false`, a number in JSON's
/// shortest form, or a JSON string; any other VALUE is the text itself. Throws Failure.
management::KeyChanges read_key_options(const CommandLine& line, std::chrono::sys_seconds now);

/// Reads an existing key: the whole standard input without one line end. If that is a terminal,
/// prompts for one line and reads it without echo. Throws Failure if it is not a valid bearer token
/// of at most 512 bytes, or if it begins with `tg_` and has a wrong checksum. The messages don't
/// contain the key.
std::string read_api_key();

}  // namespace tollgate::cli
