#pragma once

#include <stdexcept>
#include <string>

namespace tollgate::cli {

/// What the command's exit status says; --help lists them.
enum class ExitStatus : int {
    kOk = 0,
    kRedis = 1,      ///< Redis, a node or the output can't be reached, or answers an error
    kUsage = 2,      ///< the command line or what it holds is wrong
    kUnknownId = 3,  ///< no key has this id
    kConflict = 4,   ///< the id or the key exists already, or another command changed it meanwhile
};

/// Why a command can't be done, in one line, and the status that says so to a script.
class Failure : public std::runtime_error {
  public:
    Failure(ExitStatus status, const std::string& message)
        : std::runtime_error(message), status_(status) {}

    ExitStatus status() const { return status_; }

  private:
    ExitStatus status_;
};

}  // namespace tollgate::cli
