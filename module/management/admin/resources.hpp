#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "module/management/admin/admin_request.hpp"
#include "module/management/admin/preconditions.hpp"
#include "module/management/database.hpp"
#include "module/management/operations.hpp"
#include "module/quota/plan.hpp"

namespace tollgate::management {

/// A request for a resource, and what its handler needs.
struct ResourceRequest {
    Database& database;
    const redis::Keys& keys;
    std::vector<const PlanTable*> tables;  ///< that count in this Redis
    std::string id;                        ///< in the path; valid
    AdminRequest request;
    Preconditions preconditions;

    /// The caller of an operation that the request asks for.
    Caller caller() const { return {database, keys, request.actor}; }
};

/// A response to a change. The field `Tollgate-Durability` says if a failover may undo the change.
AdminResponse with_durability(AdminResponse response, Durability durability);

/// A response with the keys of an id. `key` is the new key in clear: only the response to the
/// request that made it has it.
AdminResponse key_response(int status, const KeysOfId& keys, std::chrono::sys_seconds now,
                           const std::string& key = {});

// The handlers of the resources. All throw OperationError.

Task<AdminResponse> list_keys(ResourceRequest request);     ///< `GET keys`
Task<AdminResponse> create_key(ResourceRequest request);    ///< `POST keys`
Task<AdminResponse> show_key(ResourceRequest request);      ///< `GET keys/ID`
Task<AdminResponse> change_key(ResourceRequest request);    ///< `PATCH keys/ID`
Task<AdminResponse> revoke_key(ResourceRequest request);    ///< `DELETE keys/ID`
Task<AdminResponse> rotate_key(ResourceRequest request);    ///< `POST keys/ID/rotate`
Task<AdminResponse> show_usage(ResourceRequest request);    ///< `GET keys/ID/usage`
Task<AdminResponse> show_history(ResourceRequest request);  ///< `GET keys/ID/history`
Task<AdminResponse> show_ban(ResourceRequest request);      ///< `GET keys/ID/ban`
Task<AdminResponse> end_ban(ResourceRequest request);       ///< `DELETE keys/ID/ban`
Task<AdminResponse> list_audit(ResourceRequest request);    ///< `GET audit`
Task<AdminResponse> show_openapi(ResourceRequest request);  ///< `GET openapi.json`

}  // namespace tollgate::management
