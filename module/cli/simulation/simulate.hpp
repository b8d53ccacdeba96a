#pragma once

#include <span>
#include <string>
#include <vector>

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

/// Parses the values of `--location`: `PREFIX=TABLE[,TABLE]...` or `PREFIX=off`. Without values,
/// all tables decide every request. `tables` must outlive the result. Throws Failure.
std::vector<LocationTables> parse_locations(std::span<const std::string> values,
                                            std::span<const PlanTable> tables);

/// Decides the requests of logs by the plan tables of files, and prints which ids would have been
/// refused. Throws Failure.
void simulate(const SimulateOptions& options, Format format);

}  // namespace tollgate::cli
