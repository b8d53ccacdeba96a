#include "module/management/admin/admin_api.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "module/management/admin/media_type.hpp"
#include "module/management/admin/resources.hpp"
#include "module/management/operation_error.hpp"
#include "module/text/json_writer.hpp"

namespace tollgate::management {

namespace {

AdminResponse error_response(int status, std::string_view code, std::string_view message) {
    JsonWriter json;
    json.object([&] {
        json.member("code", code);
        json.member("message", message);
        json.member("status", status);
    });
    return {.status = status, .body = std::move(json).take()};
}

/// An error that may not occur again after a second.
AdminResponse retry_response(int status, std::string_view code, std::string_view message) {
    auto response = error_response(status, code, message);
    response.fields.emplace_back("Retry-After", "1");
    return response;
}

AdminResponse response_to(const OperationError& error) {
    switch (error.reason()) {
        case Reason::kInvalid:
            return error_response(400, "invalid_request", error.what());
        case Reason::kUnknownId:
            return error_response(404, "unknown_id", error.what());
        case Reason::kIdExists:
            return error_response(409, "id_exists", error.what());
        case Reason::kKeyExists:
            return error_response(409, "key_exists", error.what());
        case Reason::kNoKey:
            return error_response(409, "no_key", error.what());
        case Reason::kTwoKeys:
            return error_response(409, "two_keys", error.what());
        case Reason::kExpired:
            return error_response(409, "key_expired", error.what());
        case Reason::kConcurrentChange:
        case Reason::kReplaced:
            return error_response(409, "concurrent_change", error.what());
        case Reason::kConditionFailed:
            return error_response(412, "precondition_failed", error.what());
        case Reason::kRequestReused:
            return error_response(422, "idempotency_key_reused", error.what());
        case Reason::kUnsupportedMedia:
            return error_response(415, "unsupported_media_type", error.what());
        case Reason::kUnavailable:
            break;
    }
    return retry_response(503, "service_unavailable", error.what());
}

/// The methods of a resource and what handles them.
struct Resource {
    using Handle = Task<AdminResponse> (*)(ResourceRequest);
    struct MethodHandler {
        Method method;
        std::string_view name;
        Handle handle;
        bool has_query = false;  ///< it reads parameters of the query
    };

    std::string_view first;  ///< segment of the path
    bool has_id;
    std::string_view last;  ///< segment after the id; empty: none
    std::array<MethodHandler, 3> methods;
};

constexpr std::array<Resource, 8> kResources{{
    {"keys",
     false,
     "",
     {{{Method::kGet, "GET", list_keys, true}, {Method::kPost, "POST", create_key}}}},
    {"keys",
     true,
     "",
     {{{Method::kGet, "GET", show_key},
       {Method::kPatch, "PATCH", change_key},
       {Method::kDelete, "DELETE", revoke_key}}}},
    {"keys", true, "rotate", {{{Method::kPost, "POST", rotate_key}}}},
    {"keys",
     true,
     "ban",
     {{{Method::kGet, "GET", show_ban}, {Method::kDelete, "DELETE", end_ban}}}},
    {"keys", true, "usage", {{{Method::kGet, "GET", show_usage}}}},
    {"keys", true, "history", {{{Method::kGet, "GET", show_history, true}}}},
    {"audit", false, "", {{{Method::kGet, "GET", list_audit, true}}}},
    {"openapi.json", false, "", {{{Method::kGet, "GET", show_openapi}}}},
}};

/// A resource is found by its segments: its name; the id; and what it is of the id.
const Resource* find_resource(const std::vector<std::string>& segments) {
    for (const auto& resource : kResources) {
        const std::size_t count =
            1U + (resource.has_id ? 1U : 0U) + (resource.last.empty() ? 0U : 1U);
        if (segments.size() == count && segments.front() == resource.first &&
            (resource.last.empty() || segments.back() == resource.last)) {
            return &resource;
        }
    }
    return nullptr;
}

AdminResponse not_allowed(const Resource& resource) {
    auto response = error_response(405, "method_not_allowed", "The resource has other methods.");
    std::string methods;
    for (const auto& method : resource.methods) {
        if (!method.name.empty()) {
            methods.append(methods.empty() ? "" : ", ").append(method.name);
        }
    }
    response.fields.emplace_back("Allow", methods);
    return response;
}

}  // namespace

AdminResponse with_durability(AdminResponse response, Durability durability) {
    switch (durability) {
        case Durability::kConfirmed:
        case Durability::kUndone:  // the operation was repeated
            break;
        case Durability::kUnconfirmed:
            response.fields.emplace_back("Tollgate-Durability", "unconfirmed");
            break;
        case Durability::kUnverified:
        case Durability::kForbidden:
            response.fields.emplace_back("Tollgate-Durability", "unverified");
            break;
    }
    return response;
}

AdminResponse too_many_operations() {
    return retry_response(429, "too_many_operations",
                          "Too many requests for keys are being handled.");
}

Task<AdminResponse> handle(Database& database, const redis::Keys& keys,
                           std::vector<const PlanTable*> tables, AdminRequest request) {
    const auto& segments = request.path.segments();
    const Resource* const resource = find_resource(segments);
    if (resource == nullptr) {
        co_return error_response(404, "not_found", "There is no such resource.");
    }
    const auto* const handler =
        std::ranges::find_if(resource->methods, [&](const Resource::MethodHandler& method) {
            return method.handle != nullptr && method.method == request.method;
        });
    if (handler == resource->methods.end()) {
        co_return not_allowed(*resource);
    }
    try {
        if (!handler->has_query) {
            QueryParameters(request.query).require_empty();
        }
        require_json_body(request);
        std::string id = resource->has_id ? segments[1] : "";
        if (resource->has_id) {
            require_valid_id(id);
        }
        ResourceRequest for_resource{.database = database,
                                     .keys = keys,
                                     .tables = tables,
                                     .id = std::move(id),
                                     .request = request,
                                     .preconditions = Preconditions(request)};
        const auto preconditions = for_resource.preconditions;
        auto response = co_await handler->handle(std::move(for_resource));
        // Handlers of other methods evaluate the conditions before they change anything.
        if (request.method == Method::kGet) {
            response = under_conditions(std::move(response), preconditions);
        }
        co_return response;
    } catch (const OperationError& error) {
        co_return response_to(error);
    }
}

}  // namespace tollgate::management
