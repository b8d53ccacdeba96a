#include "module/cli/commands/operation_failure.hpp"

#include "module/cli/terminal/output.hpp"
#include "module/management/key_changes.hpp"
#include "module/redis/protocol/record_fields.hpp"

namespace tollgate::cli {

namespace {

using management::Reason;

/// What a reason means for the command.
struct Meaning {
    ExitStatus status = ExitStatus::kConflict;
    std::string advice = {};
};

Meaning meaning_of(Reason reason) {
    switch (reason) {
        case Reason::kInvalid:
            return {ExitStatus::kUsage};
        case Reason::kUnavailable:
            return {ExitStatus::kRedis};
        case Reason::kUnknownId:
            return {ExitStatus::kUnknownId, ": see tollgate key list"};
        case Reason::kUnknownGroup:
            return {ExitStatus::kUnknownId, ": see tollgate group list"};
        case Reason::kNoKey:
            return {ExitStatus::kUnknownId,
                    ": issue or import one with this --id, or revoke the id"};
        case Reason::kIdExists:
            return {.advice = ": use another --id"};
        case Reason::kRevokedKey:
            return {.advice = ": see --force"};
        case Reason::kTwoKeys:
            return {.advice =
                        ": rotate it after that time, or end both keys now with --overlap 0s"};
        case Reason::kExpired:
            return {.advice = ": set --expires with tollgate key set first"};
        case Reason::kConcurrentChange:
            return {.advice = ": run the command again"};
        case Reason::kReplaced:
            return {.advice = ": the printed key is not valid, run the command again"};
        default:
            return {};
    }
}

}  // namespace

Failure failure_of(const management::OperationError& error) {
    const auto meaning = meaning_of(error.reason());
    return {meaning.status, error.what() + meaning.advice};
}

void require_available(const management::OperationError& error) {
    if (error.reason() == Reason::kUnavailable) {
        throw failure_of(error);
    }
}

Failure failure_of_option(const management::OperationError& error, const std::string& advice) {
    const std::string message = error.what();
    for (const auto& field : redis::record_fields()) {
        if (!field.option.empty() && message.starts_with(std::string(field.name) + ":")) {
            return {ExitStatus::kUsage,
                    std::string(field.option) + message.substr(field.name.size()) + advice};
        }
    }
    return {ExitStatus::kUsage, "--" + message + advice};
}

void check_id(const std::string& id) {
    try {
        management::require_valid_id(id);
    } catch (const management::OperationError& error) {
        throw failure_of(error);
    }
}

void warn_unless_kept(const std::string& id, management::Durability durability) {
    switch (durability) {
        case management::Durability::kConfirmed:
        case management::Durability::kUndone:  // the operation was repeated
            break;
        case management::Durability::kUnconfirmed:
            warn("no replica of Redis has confirmed the change of \"" + id +
                 "\" within one second: a failover may undo it and make a key valid again. "
                 "Run the command again");
            break;
        case management::Durability::kUnverified:
            warn("it is unknown whether the change of \"" + id +
                 "\" was made at the present master: not enough servers answer, or a failover "
                 "does not end. Run the command again");
            break;
        case management::Durability::kForbidden:
            warn(
                "it is unknown whether a replica of Redis has the change: the user may not call "
                "ROLE and WAIT. Add +role +wait to its ACL");
            break;
    }
}

}  // namespace tollgate::cli
