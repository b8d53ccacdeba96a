#include "module/cli/keys/operation_failure.hpp"

#include <string>

namespace tollgate::cli {

namespace {

using management::Reason;

ExitStatus status_of(Reason reason) {
    switch (reason) {
        case Reason::kInvalid:
            return ExitStatus::kUsage;
        case Reason::kUnknownId:
        case Reason::kNoKey:
            return ExitStatus::kUnknownId;
        case Reason::kUnavailable:
            return ExitStatus::kRedis;
        default:
            return ExitStatus::kConflict;
    }
}

std::string advice_for(Reason reason) {
    switch (reason) {
        case Reason::kUnknownId:
            return ": see tollgate key list";
        case Reason::kIdExists:
            return ": use another --id";
        case Reason::kNoKey:
            return ": issue or import one with this --id, or revoke the id";
        case Reason::kTwoKeys:
            return ": rotate it after that time, or end both keys now with --overlap 0s";
        case Reason::kExpired:
            return ": set --expires with tollgate key set first";
        case Reason::kConcurrentChange:
            return ": run the command again";
        case Reason::kReplaced:
            return ": the printed key is not valid, run the command again";
        default:
            return "";
    }
}

}  // namespace

Failure failure_of(const management::OperationError& error) {
    return {status_of(error.reason()), error.what() + advice_for(error.reason())};
}

}  // namespace tollgate::cli
