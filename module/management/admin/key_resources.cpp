#include <array>
#include <chrono>
#include <functional>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "module/management/admin/idempotent_request.hpp"
#include "module/management/admin/key_body.hpp"
#include "module/management/admin/key_maker.hpp"
#include "module/management/admin/resources.hpp"
#include "module/management/key_activity.hpp"
#include "module/management/key_json.hpp"
#include "module/management/key_search.hpp"
#include "module/management/plan_rules.hpp"
#include "module/management/random_key.hpp"
#include "module/text/rfc3339.hpp"

namespace tollgate::management {

namespace {

/// A created key. Its location is relative to `keys`.
AdminResponse created(AdminResponse response, const std::string& id) {
    response.fields.emplace_back("Location", "keys/" + id);
    return response;
}

Task<AdminResponse> make_first_key(const ResourceRequest& request,
                                   const IdempotentRequest& idempotent, const std::string& id,
                                   const NewKeyBody& body, std::chrono::sys_seconds now) {
    KeyRecord record;
    apply(body.changes, record);
    const auto tables = co_await read_known_tables(request.database, request.keys, request.tables);
    check_changed_plan(tables, record, body.changes, Forced::kNo);
    record.id = id;
    KeyMaking making(request.caller(), FirstKey{.record = std::move(record),
                                                .created = now,
                                                .values = body.changes,
                                                .is_imported = body.digest.has_value(),
                                                .request = idempotent.name()});
    co_return co_await make_key(request, making, 201, body.digest);
}

Task<AdminResponse> make_successor(const ResourceRequest& request,
                                   const IdempotentRequest& idempotent, const RotationBody& body) {
    KeyMaking making(request.caller(), Successor{.id = request.id,
                                                 .overlap = body.overlap,
                                                 .request = idempotent.name(),
                                                 .is_given = body.digest.has_value(),
                                                 .condition = request.preconditions.condition()});
    co_return co_await make_key(request, making, 200, body.digest);
}

KeyFilter filter_of(const Query& query) {
    KeyFilter filter{.plan = query.find("plan"),
                     .state = query.find("state"),
                     .name = query.find("name"),
                     .scope = query.find("scope"),
                     .meta = query.find("meta"),
                     .group = query.find("group")};
    if (const auto expires_before = query.find("expires_before")) {
        filter.expires_before = parse_rfc3339(*expires_before);
    }
    if (const auto created_from = query.find("created_from")) {
        filter.created_from = parse_rfc3339(*created_from);
    }
    validate(filter);
    return filter;
}

/// An element of a list of keys.
struct ListedKey {
    KeysOfId keys{};
    std::optional<KeyActivity> activity{};  ///< if it was asked for
};

Task<AdminResponse> list_keys(ResourceRequest request) {
    KeyReader reader(request.database, request.keys);
    const auto now = co_await reader.now();
    KeyQuery query{.filter = filter_of(request.query),
                   .after = request.query.find("after"),
                   .limit = static_cast<std::size_t>(request.query.number("limit")),
                   .now = now};
    auto found = co_await find_keys(request.database, request.keys, std::move(query));
    std::vector<KeyActivity> activities;
    if (request.query.find("include")) {
        activities =
            co_await read_activities(request.database, request.keys, found.ids, request.tables);
    }
    auto shown = co_await reader.with_last_uses(std::move(found.ids));
    std::vector<ListedKey> listed(shown.size());
    for (std::size_t i = 0; i < shown.size(); ++i) {
        listed[i].keys = std::move(shown[i]);
        if (!activities.empty()) {
            listed[i].activity = std::move(activities[i]);
        }
    }
    const auto write = [now](JsonWriter& json, const ListedKey& one) {
        write_key(json, one.keys, now);
        if (one.activity) {
            write_activity(json, *one.activity);
        }
    };
    auto response = co_await page_response(request, "keys", std::move(listed), found.next, write);
    co_return response;
}

Task<AdminResponse> create_key(ResourceRequest request) {
    KeyReader reader(request.database, request.keys);
    const auto now = co_await reader.now();
    const auto body = read_new_key(request.request.body, now, request.held);
    const IdempotentRequest idempotent(request.request);
    // The conditions are about the list of keys, which has no version.
    request.preconditions.require_without_version();
    const std::string id = body.id.value_or(idempotent.new_id());
    // The id of a new key depends on the request, so the request finds its key as long as it
    // exists.
    const KeyMaker maker{.id = id, .since = std::chrono::sys_seconds{}, .make = [&] {
                             return make_first_key(request, idempotent, id, body, now);
                         }};
    auto response = co_await execute_once(request, idempotent, maker);
    co_return created(std::move(response), id);
}

Task<AdminResponse> show_key(ResourceRequest request) {
    KeyReader reader(request.database, request.keys);
    auto keys = co_await reader.find(request.id);
    keys = co_await reader.with_last_uses(std::move(keys));
    const auto now = co_await reader.now();
    co_return key_response(200, keys, now);
}

/// The caller's own id.
Task<AdminResponse> show_caller(ResourceRequest request) {
    request.id = request.request.caller_id();
    co_return co_await show_key(std::move(request));
}

/// The id that has a key with this text or digest. The text is in the body: a URI would be logged.
Task<AdminResponse> find_key(ResourceRequest request) {
    request.preconditions.require_without_version();
    auto digest = read_wanted_digest(request.request.body);
    KeyReader reader(request.database, request.keys);
    request.id = co_await reader.id_with(std::move(digest));
    // Who finds out whose a key is leaves a trace, before the answer.
    redis::Command trace =
        add_to_audit(request.keys, entry_of(request.caller(), "lookup", request.id));
    co_await run(request.database, std::move(trace));
    co_return co_await show_key(std::move(request));
}

Task<AdminResponse> change_key(ResourceRequest request) {
    KeyReader reader(request.database, request.keys);
    const auto now = co_await reader.now();
    const auto changes = read_changes(request.request.body, now, request.held, request.id);
    const auto tables = co_await read_known_tables(request.database, request.keys, request.tables);
    const std::function<void(const KeyRecord&)> check = [&](const KeyRecord& record) {
        check_changed_plan(tables, record, changes, Forced::kNo);
    };
    const auto durability = co_await change_keys(request.caller(), "set", request.id, changes,
                                                 check, request.preconditions.condition());
    auto response = co_await show_key(std::move(request));
    co_return with_durability(std::move(response), durability);
}

Task<AdminResponse> revoke_key(ResourceRequest request) {
    const auto durability =
        co_await revoke_keys(request.caller(), request.id, request.preconditions.condition());
    co_return with_durability({.status = 204}, durability);
}

Task<AdminResponse> rotate_key(ResourceRequest request) {
    const auto body = read_rotation(request.request.body);
    const IdempotentRequest idempotent(request.request);
    KeyReader reader(request.database, request.keys);
    const auto keys = co_await reader.all_keys(request.id);
    require_may_show(request.held, keys);
    const auto now = co_await reader.now();
    const KeyMaker maker{.id = request.id,
                         .since = now - IdempotentRequest::kLifetime,
                         .make = [&] { return make_successor(request, idempotent, body); }};
    co_return co_await execute_once(request, idempotent, maker);
}

using Form = QueryParameter::Form;

constexpr std::array<std::string_view, 1> kIncluded{"activity"};
constexpr std::array kListParameters{
    kPageLimit,
    QueryParameter{"after"},
    QueryParameter{"plan"},
    QueryParameter{"state", Form::kChoice, kStates},
    QueryParameter{"name"},
    QueryParameter{"expires_before", Form::kTime},
    QueryParameter{"scope"},
    QueryParameter{"meta"},
    QueryParameter{"group"},
    QueryParameter{"created_from", Form::kTime},
    QueryParameter{"include", Form::kChoice, kIncluded},
};
constexpr std::array kKeyEndpoints{
    Endpoint{"GET", "keys", "listKeys", list_keys, kListParameters},
    Endpoint{"POST", "keys", "createKey", create_key},
    Endpoint{.method = "POST",
             .path = "keys/lookup",
             .operation = "findKey",
             .handle = find_key,
             .is_read = true,
             .own_lane = Lane::kReads},
    Endpoint{.method = "GET",
             .path = "keys/{id}",
             .operation = "showKey",
             .handle = show_key,
             .own_lane = Lane::kReads},
    Endpoint{.method = "PATCH",
             .path = "keys/{id}",
             .operation = "changeKey",
             .handle = change_key,
             .may_change_state = true},
    Endpoint{.method = "DELETE",
             .path = "keys/{id}",
             .operation = "revokeKey",
             .handle = revoke_key,
             .own_lane = Lane::kEndings},
    Endpoint{"POST", "keys/{id}/rotate", "rotateKey", rotate_key},
    Endpoint{.method = "GET",
             .path = "me",
             .operation = "showCaller",
             .handle = show_caller,
             .own_lane = Lane::kReads},
};

}  // namespace

AdminResponse key_response(int status, const KeysOfId& keys, std::chrono::sys_seconds now,
                           const std::string& key) {
    auto response = json_response(status, [&](JsonWriter& json) {
        if (!key.empty()) {
            json.member("key", key);
        }
        write_key(json, keys, now);
    });
    return with_etag(std::move(response), keys);
}

std::span<const Endpoint> key_endpoints() {
    return kKeyEndpoints;
}

}  // namespace tollgate::management
