#pragma once

namespace tollgate::cli {

/// Runs the command line of `main` and returns the exit status. It prints an error to standard
/// error, never a key.
int run(int argc, char** argv);

}  // namespace tollgate::cli
