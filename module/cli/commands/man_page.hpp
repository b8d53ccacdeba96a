#pragma once

#include <string>

namespace CLI {
class App;
}

namespace tollgate::cli {

/// The manual page of a command line, in man(7), from its definition alone. Dated today, or as
/// SOURCE_DATE_EPOCH says.
std::string man_page(const CLI::App& app);

}  // namespace tollgate::cli
