#pragma once

namespace tollgate::cli {

/// Reads the command line, does what it says, and returns the exit status. Throws Failure.
int run_command_line(int argc, char** argv);

}  // namespace tollgate::cli
