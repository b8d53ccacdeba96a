#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "module/management/admin/idempotent_request.hpp"
#include "module/management/admin/resources.hpp"

namespace tollgate::management {

/// How a request makes a key.
struct KeyMaker {
    std::string id;
    std::chrono::sys_seconds since;  ///< the same request may make another key than before that
    std::function<Task<AdminResponse>()> make;
};

/// The response to a request that makes a key. The request is recorded: if it has made the key
/// before, the response has the keys of the id and no new key. The arguments must outlive the task.
/// Throws OperationError.
Task<AdminResponse> execute_once(const ResourceRequest& request,
                                 const IdempotentRequest& idempotent, const KeyMaker& maker);

/// The new key of an id gives the scopes of the id to the caller, who knows it. Throws
/// OperationError with Reason::kNotPermitted unless the caller has the scopes of all of these keys.
void require_may_show(const HeldRights& held, const KeysOfId& keys);

/// Makes a key and confirms it, both durably, before it is shown. `given` is the digest of a key
/// that the program has; without it, the key is a new one. The arguments must outlive the task.
Task<AdminResponse> make_key(const ResourceRequest& request, KeyMaking& making, int status,
                             std::optional<std::string> given);

}  // namespace tollgate::management
