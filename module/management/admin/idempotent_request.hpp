#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "module/management/admin/admin_request.hpp"
#include "module/management/operation_error.hpp"
#include "module/management/stored_key.hpp"

namespace tollgate::management {

/// A POST with the field `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header). The key
/// that it makes holds the name of the request, so that the request does nothing when it is
/// repeated.
class IdempotentRequest {
  public:
    /// Throws OperationError with Reason::kInvalid if the field is not valid: 1 to 255 printable
    /// ASCII characters.
    explicit IdempotentRequest(const AdminRequest& request);

    /// For StoredKey::request. Empty if the request has no `Idempotency-Key`.
    const std::string& name() const { return name_; }
    /// The first part of the name, which does not depend on the body.
    std::string name_without_body() const;
    /// The id of a new key: it depends on the request, or is random without `Idempotency-Key`.
    std::string new_id() const;
    /// Whether this request has made one of the keys since a time and has shown it. Throws
    /// OperationError with Reason::kRequestReused if a request with the same `Idempotency-Key` and
    /// another body has.
    bool has_made(const KeysOfId& keys, std::chrono::sys_seconds since) const;
    /// How long the name of a request stands for this request.
    static constexpr std::chrono::hours kLifetime{24};

  private:
    std::string name_;
};

/// The error for an `Idempotency-Key` of a request with another body.
OperationError request_reused();

}  // namespace tollgate::management
