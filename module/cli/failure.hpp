#pragma once

#include <stdexcept>
#include <string>

namespace tollgate::cli {

/// The exit status of the command. `tollgate --help` lists the values.
enum class ExitStatus : int {
    kOk = 0,
    kRedis = 1,      ///< Redis, a node, a log or the output is unreachable, or has an error
    kUsage = 2,      ///< the command line, or a value on it, is invalid
    kUnknownId = 3,  ///< no key has this id
    kConflict = 4,   ///< the id or the key already exists, or another command changed it
    kFindings = 5,   ///< `doctor` has found problems, or `import --dry-run` differences
    kGone = 6,       ///< the receiver of `notify` wants no more notices
};

/// The command fails. what() is a message of one line, status() is the exit status.
class Failure : public std::runtime_error {
  public:
    Failure(ExitStatus status, const std::string& message)
        : std::runtime_error(message), status_(status) {}

    ExitStatus status() const { return status_; }

  private:
    ExitStatus status_;
};

}  // namespace tollgate::cli
