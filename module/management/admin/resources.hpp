#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "module/management/admin/admin_request.hpp"
#include "module/management/admin/caller_rights.hpp"
#include "module/management/admin/preconditions.hpp"
#include "module/management/database.hpp"
#include "module/management/operations.hpp"
#include "module/plan/plan.hpp"
#include "module/text/json_writer.hpp"

namespace tollgate::management {

/// A request for a resource, and what its handler needs.
struct ResourceRequest {
    Database& database;
    const redis::Keys& keys;
    std::vector<const PlanTable*> tables;  ///< that count in this Redis
    std::string id;                        ///< in the path; valid
    AdminRequest request;
    Query query;
    Preconditions preconditions;
    CallerRights& rights;  ///< a batch checks them again before each operation
    HeldRights held;       ///< when this request began

    /// The caller of an operation that the request asks for.
    Caller caller() const { return {database, keys, request.actor, request.name}; }
};

/// A response to a change. The field `Tollgate-Durability` says if a failover may undo the change.
AdminResponse with_durability(AdminResponse response, Durability durability);

/// A response with the keys of an id. `key` is the new key in clear: only the response to the
/// request that made it has it.
AdminResponse key_response(int status, const KeysOfId& keys, std::chrono::sys_seconds now,
                           const std::string& key = {});

/// A response with an Error body. A request that gets 429 or 503 may succeed after a second.
AdminResponse error_response(int status, std::string_view code, std::string_view message);

/// A response with a JSON object, whose members `write` writes.
template <typename Write>
AdminResponse json_response(int status, Write write) {
    JsonWriter json;
    json.object([&] { write(json); });
    return {.status = status, .body = std::move(json).take()};
}

/// How many entries a page of a list has at most.
inline constexpr QueryParameter kPageLimit{.name = "limit",
                                           .form = QueryParameter::Form::kNumber,
                                           .least = 1,
                                           .most = 100,
                                           .otherwise = 50};

/// Adds the link to the page of a list that begins after a place.
void add_next(AdminResponse& response, const ResourceRequest& request, std::string_view place);

/// The elements of an array of objects, whose members `write` writes. Each entry is freed when it
/// is written: a page of large ones takes a while.
template <typename Entry, typename Write>
Task<std::string> written_objects(Database& database, std::vector<Entry> entries, Write write) {
    JsonWriter json;
    for (Entry& entry : entries) {
        json.object([&] { write(json, entry); });
        entry = Entry{};
        co_await Pause(database);
    }
    co_return std::move(json).take();
}

/// A page of a list whose entries `write` writes. `next` is the place of the next page, if there is
/// one. `has_subjects` says whether the list has ids without a key, unless it never has. The
/// request must outlive the task.
template <typename Entry, typename Write>
Task<AdminResponse> page_response(const ResourceRequest& request, std::string_view name,
                                  std::vector<Entry> entries, std::optional<std::string> next,
                                  Write write, std::optional<bool> has_subjects = std::nullopt) {
    const auto objects =
        co_await written_objects(request.database, std::move(entries), std::move(write));
    auto response = json_response(200, [&](JsonWriter& json) {
        json.array(name, [&] { json.json(objects); });
        json.member("next", next);
        if (has_subjects) {
            json.member("has_subjects", *has_subjects);
        }
    });
    if (next) {
        add_next(response, request, *next);
    }
    co_return response;
}

/// The longest body of a request, in bytes, unless its endpoint has another one.
inline constexpr std::size_t kLongestBody = 16384;

/// An endpoint. A request is routed by it, and the document and the methods of `Allow` are derived
/// from it.
struct Endpoint {
    std::string_view method;
    std::string_view path;       ///< `{id}` stands for an id
    std::string_view operation;  ///< its name in openapi.json, which describes it
    /// Throws OperationError.
    Task<AdminResponse> (*handle)(ResourceRequest request);
    std::span<const QueryParameter> parameters{};
    bool is_read = false;  ///< a POST that changes nothing: it needs no `Idempotency-Key`
    std::size_t longest_body = kLongestBody;
    bool creates = false;             ///< a PATCH of what may not exist yet
    std::optional<UsageOf> resets{};  ///< whose counts it resets
    std::optional<Lane> own_lane{};   ///< in place of the usual one of reads or changes
    bool may_change_state = false;    ///< its body may change the state of a key
    bool has_reference = false;       ///< a POST whose body has a reference, which is used once

    /// Whether an `Idempotency-Key` makes the request safe to repeat.
    bool takes_idempotency_key() const { return method == "POST" && !is_read && !has_reference; }
    /// Where the request waits. A change of a state has another lane: see lane_of().
    Lane lane() const {
        return own_lane.value_or(method == "GET" || is_read ? Lane::kLists : Lane::kChanges);
    }
    bool has_id() const { return path.find("{id}") != std::string_view::npos; }
};

/// The endpoints below `keys`, except those that other_endpoints() has.
std::span<const Endpoint> key_endpoints();
/// Those below `groups`.
std::span<const Endpoint> group_endpoints();
/// The endpoints that credit balances.
std::span<const Endpoint> balance_endpoints();
/// All others, some of them below `keys`.
std::span<const Endpoint> other_endpoints();

/// The handler of `POST keys:batch`: up to 1,000 requests that change keys.
Task<AdminResponse> execute_batch(ResourceRequest request);
/// Its longest body, in bytes.
inline constexpr std::size_t kLongestBatch = 1048576;

/// All endpoints. Those of one path follow each other.
inline std::array<std::span<const Endpoint>, 4> endpoints() {
    return {key_endpoints(), group_endpoints(), balance_endpoints(), other_endpoints()};
}

}  // namespace tollgate::management
