#include "module/management/admin/batch_body.hpp"

#include <optional>
#include <utility>

#include "module/management/admin/json_body.hpp"
#include "module/management/admin/json_slices.hpp"
#include "module/management/operation_error.hpp"

namespace tollgate::management {

namespace {

/// The value of the only member, `operations`.
std::string_view operations_in(std::string_view body) {
    if (!is_json_text(body)) {
        refuse("the body is not valid JSON");
    }
    const auto members = members_in(body);
    if (members.size() != 1 || members.front().first != "operations" ||
        !members.front().second.starts_with('[')) {
        refuse("the body needs one member, the list \"operations\"");
    }
    return members.front().second;
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

}  // namespace

std::vector<AdminRequest> read_batch(const AdminRequest& batch) {
    const auto operations = elements_in(operations_in(batch.body));
    if (operations.empty() || operations.size() > kMostOperations) {
        refuse("operations: use 1 to " + std::to_string(kMostOperations));
    }
    std::vector<AdminRequest> requests;
    requests.reserve(operations.size());
    for (const auto operation : operations) {
        requests.push_back(request_of(batch, operation, std::to_string(requests.size() + 1)));
    }
    return requests;
}

}  // namespace tollgate::management
