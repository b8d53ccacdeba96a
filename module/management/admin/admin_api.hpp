#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "module/management/admin/admin_request.hpp"
#include "module/management/admin/caller_queue.hpp"
#include "module/management/admin/caller_rights.hpp"
#include "module/management/database.hpp"
#include "module/management/usage_reset.hpp"
#include "module/plan/plan.hpp"

namespace tollgate::management {

/// Handles a request of tollgate_admin; ADMIN.md and openapi.json describe the resources.
/// Nothing is executed before `rights` has confirmed that the caller may still make requests.
/// `tables` are the plan tables that count in this Redis. All must outlive the task. Throws nothing
/// but std::bad_alloc: an error is a response with an Error body.
Task<AdminResponse> handle(Database& database, const redis::Keys& keys,
                           std::vector<const PlanTable*> tables, CallerRights& rights,
                           AdminRequest request);

/// The lane of a request.
Lane lane_of(const AdminRequest& request);
/// How many requests of a lane a worker handles at a time, and how many wait.
QueueRoom room_of(Lane lane);

/// Whether a request changes nothing. `method` is `GET` also for HEAD.
bool is_read(std::string_view method, const ResourcePath& path);

/// How long a request waits for its operation, which usually ends much earlier, because each call
/// of Redis has a timeout.
inline constexpr std::chrono::seconds kLongestOperation{60};

/// The longest body of a request, in bytes.
std::size_t longest_body(std::string_view method, const ResourcePath& path);

/// Whose counts a request resets. Empty: it resets none, or its id is not valid.
std::optional<UsageOwner> reset_by(std::string_view method, const ResourcePath& path);

/// The response to a request that is not handled, because too many others are: 429.
AdminResponse too_many_operations();

/// The OpenAPI document of tollgate_admin at a location such as `/admin/`, as JSON.
std::string openapi_document(std::string_view location);

}  // namespace tollgate::management
