#pragma once

#include <utility>

#include "module/cli/failure.hpp"
#include "module/management/database.hpp"
#include "module/management/operation_error.hpp"

namespace tollgate::cli {

/// The failure of the command for an error of an operation, with advice for the command line.
Failure failure_of(const management::OperationError& error);

/// Runs a task of a SessionDatabase to its end. Throws Failure.
template <typename Result>
Result complete(management::Task<Result> task) {
    try {
        return management::run_to_end(std::move(task));
    } catch (const management::OperationError& error) {
        throw failure_of(error);
    }
}

}  // namespace tollgate::cli
