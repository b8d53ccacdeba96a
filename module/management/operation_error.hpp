#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace tollgate::management {

/// Why an operation on a key is refused.
enum class Reason : std::uint8_t {
    kInvalid,           ///< a value is not valid
    kUnknownId,         ///< no key has this id
    kUnknownGroup,      ///< the group has no record
    kIdExists,          ///< the id has a key already
    kKeyExists,         ///< the key belongs to another id already
    kRevokedKey,        ///< the key was revoked, and must not become valid again
    kNoKey,             ///< the id has no key left
    kTwoKeys,           ///< the overlap of an earlier rotation has not ended
    kExpired,           ///< the key has expired
    kConcurrentChange,  ///< another operation has changed the id at the same time
    kReplaced,          ///< another operation has replaced the new key
    kReferenceReused,   ///< a credit with this reference had other units
    kHasBalance,        ///< the id has a balance, which the change would lose
    kConditionFailed,   ///< the version of the id does not meet the condition of the operation
    kRequestReused,     ///< the request's `Idempotency-Key` was used for another request
    kNotPermitted,      ///< the caller may not do it, whoever else may
    kUnsupportedMedia,  ///< the body of the request is not JSON in clear
    kUnavailable,       ///< Redis is unreachable, or answers with an error
};

/// An operation on a key is refused or fails. what() is one sentence about the cause. It is unknown
/// whether the last step of an operation that fails with kUnavailable was executed.
class OperationError : public std::runtime_error {
  public:
    OperationError(Reason reason, const std::string& message)
        : std::runtime_error(message), reason_(reason) {}

    Reason reason() const { return reason_; }

  private:
    Reason reason_;
};

/// Throws OperationError with Reason::kInvalid.
[[noreturn]] inline void refuse(const std::string& why) {
    throw OperationError(Reason::kInvalid, why);
}

/// Refuses the cursor of a page: `after` is not `next` of the page before. Throws OperationError.
[[noreturn]] inline void refuse_cursor() {
    refuse("after: use the value of \"next\"");
}

}  // namespace tollgate::management
