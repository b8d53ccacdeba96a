#include "module/management/admin/batch_body.hpp"

#include <optional>
#include <utility>

#include "module/management/admin/admin_api.hpp"
#include "module/management/admin/json_body.hpp"
#include "module/management/admin/json_slices.hpp"
#include "module/management/admin/resources.hpp"
#include "module/management/operation_error.hpp"
#include "module/text/json_reader.hpp"

namespace tollgate::management {

namespace {

/// The longest operation, in bytes: its body, and what else it has.
constexpr std::size_t kLongestElement = kLongestBody + 4096;

[[noreturn]] void refuse_length(const std::string& number) {
    refuse("operation " + number + " has a body of more than " + std::to_string(kLongestBody) +
           " bytes");
}

[[noreturn]] void refuse_number() {
    refuse("operations: use 1 to " + std::to_string(kMostOperations));
}

/// The object without its member `body`, which is written to `body`.
std::string without_body(std::string_view operation, std::string& body) {
    std::string rest = "{";
    bool has_body = false;
    for (const auto& [name, value] : members_in(operation)) {
        if (name == "body" && !std::exchange(has_body, true)) {
            body = value;
        } else {
            rest.append(rest.size() > 1 ? "," : "").append("\"").append(name).append("\":");
            rest.append(value);
        }
    }
    return rest + "}";
}

AdminRequest request_of(const AdminRequest& batch, std::string_view operation,
                        const std::string& number) {
    const auto subject = "operation " + number;
    if (!operation.starts_with('{')) {
        refuse(subject + " is not an object");
    }
    AdminRequest request{.path = {},
                         .base = batch.base,
                         .idempotency_key = batch.idempotency_key,
                         .actor = batch.actor,
                         .name = batch.name,
                         .part = number};
    JsonBody members(without_body(operation, request.body), subject);
    request.method = members.take_text("method").value_or("");
    const auto path_text = members.take_text("path");
    const auto path = path_text ? ResourcePath::below("/", "/" + *path_text) : std::nullopt;
    request.if_match = members.take_text("if_match");
    members.require_empty();
    if (request.method != "POST" && request.method != "PATCH" && request.method != "DELETE") {
        refuse(subject + " needs a \"method\": POST, PATCH or DELETE");
    }
    if (!path) {
        refuse(subject + " needs a \"path\" that is percent-encoded properly");
    }
    request.path = *path;
    return request;
}

/// Requests that only read belong into requests of their own, whose responses are limited. Throws
/// OperationError.
void require_change(const AdminRequest& request) {
    const bool is_batch = longest_body(request.method, request.path) > kLongestBody;
    if (is_batch || is_read(request.method, request.path)) {
        refuse("operation " + request.part + " does not change a key: use a request of its own");
    }
    if (request.body.size() > kLongestBody) {
        refuse_length(request.part);
    }
}

}  // namespace

Task<std::vector<AdminRequest>> read_batch(Database& database, const AdminRequest& batch) {
    using Next = ListSlices::Next;
    ListSlices operations(batch.body, "operations", kLongestElement);
    std::vector<AdminRequest> requests;
    for (auto next = operations.next(); next != Next::kEnd; next = operations.next()) {
        const auto number = std::to_string(requests.size() + 1);
        if (next == Next::kOther) {
            refuse("the body needs one member, the list \"operations\"");
        }
        if (next == Next::kTooLong) {
            refuse_length(number);
        }
        if (next == Next::kInvalid || !is_json_text(operations.element())) {
            refuse("the body is not valid JSON");
        }
        if (requests.size() == kMostOperations) {
            refuse_number();
        }
        requests.push_back(request_of(batch, operations.element(), number));
        require_change(requests.back());
        co_await Pause(database);
    }
    if (requests.empty()) {
        refuse_number();
    }
    co_return requests;
}

}  // namespace tollgate::management
