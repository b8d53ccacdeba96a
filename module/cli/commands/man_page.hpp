#pragma once

#include <string>

namespace CLI {
class App;
}

namespace tollgate::cli {

/// Generates the manual page of a command definition, in the man(7) format. The date is that of
/// SOURCE_DATE_EPOCH (Unix seconds) if the variable is set, otherwise today.
std::string man_page(const CLI::App& app);

}  // namespace tollgate::cli
