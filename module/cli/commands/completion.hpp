#pragma once

#include <string>

namespace CLI {
class App;
}

namespace tollgate::cli {

/// The completion of a command line for `bash` or `zsh`, from its definition alone.
std::string completion(const CLI::App& app, const std::string& shell);

}  // namespace tollgate::cli
