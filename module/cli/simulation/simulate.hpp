#pragma once

#include <string>
#include <vector>

#include "module/cli/simulation/log_line.hpp"
#include "module/cli/simulation/simulation.hpp"
#include "module/cli/terminal/output.hpp"

namespace tollgate::cli {

/// The options of `tollgate simulate`, as given on the command line, unchecked.
struct SimulateOptions {
    std::vector<std::string> plans;      ///< files, see read_plan_files
    std::vector<std::string> logs;       ///< files; `-` is standard input
    std::vector<std::string> locations;  ///< see parse_locations
    AssumedKeys keys;
    LogFields fields;
};

/// Decides the requests of logs by the plan tables of files, and prints which ids would have been
/// refused. Throws Failure.
void simulate(const SimulateOptions& options, Format format);

}  // namespace tollgate::cli
