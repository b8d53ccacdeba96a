#pragma once

#include <string>
#include <utility>

#include "module/cli/failure.hpp"
#include "module/management/database.hpp"
#include "module/management/durability.hpp"
#include "module/management/operation_error.hpp"

namespace tollgate::cli {

/// The failure of the command for an error of an operation, with advice for the command line.
Failure failure_of(const management::OperationError& error);

/// Throws Failure if Redis is unavailable: the error ends the command. Any other error refuses one
/// line of a file.
void require_available(const management::OperationError& error);

/// The failure of the command for an error whose message begins with the name of a value. The
/// failure names the option of the value instead. `advice` ends the message.
Failure failure_of_option(const management::OperationError& error, const std::string& advice);

/// Runs a task of a RedisSession to its end. Throws Failure.
template <typename Result>
Result complete(management::Task<Result> task) {
    try {
        return management::run_to_end(std::move(task));
    } catch (const management::OperationError& error) {
        throw failure_of(error);
    }
}

/// Runs a check of values of options. Throws Failure.
template <typename Check>
auto check_options(const Check& check, const std::string& advice = {}) {
    try {
        return check();
    } catch (const management::OperationError& error) {
        throw failure_of_option(error, advice);
    }
}

/// Validates an id from the command line. Throws Failure.
void check_id(const std::string& id);

/// Warns if a failover may undo the change of an id.
void warn_unless_kept(const std::string& id, management::Durability durability);

}  // namespace tollgate::cli
