#pragma once

#include <string>

#include "module/cli/simulation/simulation_result.hpp"
#include "module/cli/terminal/output.hpp"

namespace tollgate::cli {

/// What `tollgate simulate` prints, with the last line end.
std::string render_simulation(Format format, const SimulationResult& result);

}  // namespace tollgate::cli
