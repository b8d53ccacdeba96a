#pragma once

#include <string>

namespace CLI {
class App;
}

namespace tollgate::cli {

/// Generates the completion script of a command definition. `shell` is `bash` or `zsh`. The zsh
/// script works as a file of $fpath and with `source`.
std::string completion(const CLI::App& app, const std::string& shell);

}  // namespace tollgate::cli
