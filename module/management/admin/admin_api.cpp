#include "module/management/admin/admin_api.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "module/management/admin/json_body.hpp"
#include "module/management/admin/json_slices.hpp"
#include "module/management/admin/resources.hpp"
#include "module/management/operation_error.hpp"
#include "module/redis/protocol/schema.hpp"
#include "module/text/json_reader.hpp"

namespace tollgate::management {

AdminResponse error_response(int status, std::string_view code, std::string_view message) {
    auto response = json_response(status, [&](JsonWriter& json) {
        json.member("code", code);
        json.member("message", message);
        json.member("status", status);
    });
    if (status == 429 || status == 503) {
        response.fields.emplace_back("Retry-After", "1");
    }
    return response;
}

namespace {

struct ErrorKind {
    Reason reason;
    int status;
    std::string_view code;
};
constexpr std::array kErrorKinds{
    ErrorKind{Reason::kInvalid, 400, "invalid_request"},
    ErrorKind{Reason::kNotPermitted, 403, "not_permitted"},
    ErrorKind{Reason::kUnknownId, 404, "unknown_id"},
    ErrorKind{Reason::kUnknownGroup, 404, "unknown_id"},
    ErrorKind{Reason::kIdExists, 409, "id_exists"},
    ErrorKind{Reason::kKeyExists, 409, "key_exists"},
    ErrorKind{Reason::kRevokedKey, 409, "revoked_key"},
    ErrorKind{Reason::kNoKey, 409, "no_key"},
    ErrorKind{Reason::kTwoKeys, 409, "two_keys"},
    ErrorKind{Reason::kExpired, 409, "key_expired"},
    ErrorKind{Reason::kConcurrentChange, 409, "concurrent_change"},
    ErrorKind{Reason::kReplaced, 409, "concurrent_change"},
    ErrorKind{Reason::kReferenceReused, 409, "reference_reused"},
    ErrorKind{Reason::kHasBalance, 409, "has_balance"},
    ErrorKind{Reason::kConditionFailed, 412, "precondition_failed"},
    ErrorKind{Reason::kUnsupportedMedia, 415, "unsupported_media_type"},
    ErrorKind{Reason::kRequestReused, 422, "idempotency_key_reused"},
    ErrorKind{Reason::kUnavailable, 503, "service_unavailable"},
};

AdminResponse response_to(const OperationError& error) {
    const auto* const kind = std::ranges::find(kErrorKinds, error.reason(), &ErrorKind::reason);
    return error_response(kind->status, kind->code, error.what());
}

/// Whether a path is that of an endpoint: each segment is the same, or stands for an id.
bool matches(std::string_view path, const std::vector<std::string>& segments) {
    for (const auto& segment : segments) {
        const auto wanted = path.substr(0, path.find('/'));
        const bool is_last = &segment == &segments.back();
        if ((wanted != segment && wanted != "{id}") || is_last != (wanted.size() == path.size())) {
            return false;
        }
        path.remove_prefix(is_last ? 0 : wanted.size() + 1);
    }
    return true;
}

const Endpoint* find_endpoint(std::string_view method, const ResourcePath& path) {
    for (const auto& part : endpoints()) {
        for (const auto& endpoint : part) {
            if (endpoint.method == method && matches(endpoint.path, path.segments())) {
                return &endpoint;
            }
        }
    }
    return nullptr;
}

/// The methods of a path, for `Allow`. Empty if there is no such resource.
std::string methods_of(const ResourcePath& path) {
    std::string methods;
    for (const auto& part : endpoints()) {
        for (const auto& endpoint : part) {
            if (matches(endpoint.path, path.segments())) {
                methods.append(methods.empty() ? "" : ", ").append(endpoint.method);
            }
        }
    }
    return methods;
}

/// Whether a body changes the state of a key. A name with an escape counts as another one.
bool changes_state(std::string_view body) {
    const auto name = redis::record_field::kState;
    if (body.size() > kLongestBody || body.find(name) == std::string_view::npos ||
        !is_json_text(body)) {
        return false;
    }
    const auto members = members_in(body);
    return std::ranges::any_of(members, [&](const auto& member) { return member.first == name; });
}

}  // namespace

Lane lane_of(const AdminRequest& request) {
    const auto* const endpoint = find_endpoint(request.method, request.path);
    if (endpoint == nullptr) {
        return Lane::kReads;  // the response is an error
    }
    const auto lane = endpoint->lane();
    return endpoint->may_change_state && changes_state(request.body) ? Lane::kEndings : lane;
}

QueueRoom room_of(Lane lane) {
    // A caller's share of those that wait is as many as its client waits for.
    constexpr std::size_t kWaiting = 128;
    switch (lane) {
        case Lane::kLists:
            return {.places = 12, .waiting = kWaiting};
        case Lane::kChanges:
        case Lane::kBatches:
            return {.places = 16, .waiting = kWaiting};
        case Lane::kReads:
        case Lane::kEndings:
            break;
    }
    return {.places = 16, .waiting = kWaiting, .is_open_to_all = true};
}

bool is_read(std::string_view method, const ResourcePath& path) {
    const auto* const endpoint = find_endpoint(method, path);
    return method == "GET" || (endpoint != nullptr && endpoint->is_read);
}

std::size_t longest_body(std::string_view method, const ResourcePath& path) {
    const auto* const endpoint = find_endpoint(method, path);
    return endpoint != nullptr ? endpoint->longest_body : kLongestBody;
}

std::optional<UsageOwner> reset_by(std::string_view method, const ResourcePath& path) {
    const auto* const endpoint = find_endpoint(method, path);
    if (endpoint == nullptr || !endpoint->resets || !is_valid_key_id(path.segments()[1])) {
        return std::nullopt;
    }
    return UsageOwner{.id = path.segments()[1], .of = *endpoint->resets};
}

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

void add_next(AdminResponse& response, const ResourceRequest& request, std::string_view place) {
    response.fields.emplace_back("Link", "<" + request.request.path.text() + "?" +
                                             request.query.with_after(place) + ">; rel=\"next\"");
}

AdminResponse too_many_operations() {
    return error_response(429, "too_many_operations",
                          "Too many requests for keys are being handled.");
}

Task<AdminResponse> handle(Database& database, const redis::Keys& keys,
                           std::vector<const PlanTable*> tables, CallerRights& rights,
                           AdminRequest request) {
    auto answer = co_await check(rights);
    if (auto* const refusal = std::get_if<AdminResponse>(&answer)) {
        co_return std::move(*refusal);
    }
    const Endpoint* const found = find_endpoint(request.method, request.path);
    const auto methods = methods_of(request.path);
    if (methods.empty()) {
        co_return error_response(404, "not_found", "There is no such resource.");
    }
    if (found == nullptr) {
        auto response =
            error_response(405, "method_not_allowed", "The resource has other methods.");
        response.fields.emplace_back("Allow", methods);
        co_return response;
    }
    try {
        Query query(request.query, found->parameters);
        require_json_body(request);
        std::string id = found->has_id() ? request.path.segments()[1] : "";
        if (found->has_id()) {
            require_valid_id(id);
        }
        ResourceRequest for_resource{.database = database,
                                     .keys = keys,
                                     .tables = tables,
                                     .id = std::move(id),
                                     .request = request,
                                     .query = std::move(query),
                                     .preconditions = Preconditions(request),
                                     .rights = rights,
                                     .held = std::move(std::get<HeldRights>(answer))};
        const auto preconditions = for_resource.preconditions;
        auto response = co_await found->handle(std::move(for_resource));
        // Handlers of other methods evaluate the conditions before they change anything.
        if (request.method == "GET") {
            response = under_conditions(std::move(response), preconditions);
        }
        co_return response;
    } catch (const OperationError& error) {
        co_return response_to(error);
    }
}

}  // namespace tollgate::management
